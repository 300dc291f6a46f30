import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { holds, render, type TemplateScope } from '../../tools/flows/render.ts';
import { workMs } from '../support/processor-time.ts';

const numbers = Array.from({ length: 1000 }, (_, index) => index);
const scope: TemplateScope = {
  input: { numbers, long: 'x'.repeat(200_000), repeated: 'x'.repeat(40), record: { a: [1] } },
  steps: Object.fromEntries([['__proto__', { output: { id: 'own' } }]]),
};

/** It ends soon, and says why. */
function isRefused(work: () => unknown, message: RegExp): void {
  const took = workMs(() => assert.throws(work, { message }));
  assert.ok(took < 5000, `${took} ms`);
}

describe('templates and conditions', () => {
  it('are cut off where they go on and on', () => {
    const nested = 'numbers.all(a, input.numbers.all(b, input.numbers.all(c, c >= 0)))';
    isRefused(() => holds(`input.${nested}`, scope), /cannot be evaluated: it takes more than 500 ms/);
    isRefused(() => holds('input.repeated.matches("(x+x+)+y")', scope), /it takes more than 500 ms/);
    const loops =
      '{% for a in (1..9000) %}{% for b in (1..9000) %}{% for c in (1..9000) %}{% endfor %}{% endfor %}{% endfor %}';
    // Which of the two bounds it meets first is a matter of the machine.
    isRefused(
      () => render([loops, loops], scope),
      /cannot be filled: (it takes more than 500 ms|memory alloc limit exceeded)/,
    );
    assert.equal(holds('size(input.numbers) == 1000', scope), true);
  });

  it('give no more than there is room for', () => {
    const loop = 'a{% for i in (1..1000) %}{{ input.long }}{% endfor %}';
    isRefused(() => render({ text: loop }, scope), /gives 200000001 characters/);
    isRefused(() => render(Array(10).fill('a{{ input.long }}'), scope), /arguments have 20000\d\d characters/);
    isRefused(() => render('{{ (1..9000000) | size }}', scope), /memory/);
  });

  it('see own members only, whatever they are called', () => {
    assert.equal(render('{{ steps.__proto__.output.id }}', scope), 'own');
    assert.equal(render('a{{ input.constructor }}{{ steps.toString }}{{ input.numbers.constructor }}', scope), 'a');
    assert.equal(holds('steps.__proto__.output.id == "own"', scope), true);
    assert.throws(() => holds('input.constructor == 1', scope), /No such key/);
  });

  it('change nothing that others see', () => {
    const counters = '{% increment input %}{% decrement steps %}{% increment n %}';
    assert.deepEqual(render([counters, '{{ input.repeated }}', 'a{{ n }}'], scope), ['0-10', 'x'.repeat(40), 'a']);
    assert.deepEqual(Object.keys(scope), ['input', 'steps']);
    assert.equal(holds('size(input.numbers) == 1000', scope), true);
  });

  it('write records within a text as JSON', () => {
    assert.equal(render('it is {{ input.record }}', scope), 'it is {"a":[1]}');
    assert.deepEqual(render('{{ input.record }}', scope), { a: [1] });
  });
});
