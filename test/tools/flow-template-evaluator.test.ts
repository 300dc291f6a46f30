import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { EvaluationTimeUsedUp, TemplateEvaluator } from '../../tools/flows/template-evaluator.ts';
import { FlowWorld } from '../support/flow-world.ts';
import { nodeArgs } from '../support/node-args.ts';

const ENDLESS = '{% for a in (1..9000) %}{% for b in (1..9000) %}{% endfor %}{% endfor %}';
const scope = { input: { numbers: Array.from({ length: 1000 }, (_, at) => at), long: 'x'.repeat(100_000) }, steps: {} };

/** Turns of the event loop that others get while the work goes on. */
async function turnsDuring(work: Promise<unknown>): Promise<number> {
  let turns = 0;
  let ended = false;
  const over = work.then(
    () => (ended = true),
    () => (ended = true),
  );
  while (!ended) {
    await new Promise((resolve) => setImmediate(resolve));
    turns += 1;
  }
  await over;
  return turns;
}

describe('the templates of a run', () => {
  it('are filled where no file can be opened any more, and the process goes on', () => {
    const file = fileURLToPath(new URL('./flow-without-descriptors.ts', import.meta.url));
    const shell = ['-c', 'ulimit -n 256; exec "$0" "$@"', process.execPath, ...nodeArgs(file)];
    const { stdout, stderr, signal } = spawnSync('sh', shell, { encoding: 'utf8' });
    assert.deepEqual([stdout, signal], ['x true\n', null], stderr);
  });

  it('leave the event loop to others while they go on', async () => {
    const filling = new TemplateEvaluator();
    for (const work of [
      () => filling.render({ text: ENDLESS }, scope),
      () => filling.holds('input.numbers.all(a, input.numbers.all(b, input.numbers.all(c, c >= 0)))', scope),
      () => filling.render('{{ input.long | replace: "x", "y" }}', scope),
    ]) {
      assert.ok((await turnsDuring(work())) > 3);
    }
  });

  it('say what is wrong as they do elsewhere', async () => {
    const filling = new TemplateEvaluator();
    await assert.rejects(
      filling.render(ENDLESS, scope),
      /The templates cannot be filled|cannot be filled: memory alloc/,
    );
    await assert.rejects(
      filling.render('{{ input.long | nothing }}', scope),
      /cannot be filled: undefined filter: nothing/,
    );
    await assert.rejects(filling.holds('input.numbers.map(n, n)', scope), /gives object, not true or false/);
    assert.deepEqual(await filling.render(['{{ input.numbers | size }}', '{{ input.long }}'], scope), [
      1000,
      scope.input.long,
    ]);
    assert.equal(await filling.holds('input.numbers.exists(n, n == 999)', scope), true);
  });

  it('are filled in this process where they only name values that are small', async () => {
    const filling = new TemplateEvaluator();
    const small = { input: { name: 'Ada' }, steps: { one: { output: { ok: true } } } };
    // A promise that is settled at once was made without another process.
    assert.equal(
      await turnsDuring(filling.render({ a: '{{ input.name }}', b: ['{{steps.one.output.ok}}'] }, small)),
      1,
    );
    assert.equal(await turnsDuring(filling.holds('steps.one.output.ok == true && has(input.name)', small)), 1);
  });

  it('together take no more than the run may', async () => {
    const filling = new TemplateEvaluator('', 600);
    let exhausted = 0;
    for (let step = 0; step < 40; step += 1) {
      await filling.render(`{{ input.numbers | size }}${ENDLESS}`, { ...scope }).catch((error) => {
        if (error instanceof EvaluationTimeUsedUp) exhausted += 1;
      });
      if (exhausted > 0) break;
    }
    assert.equal(exhausted, 1);
    await assert.rejects(filling.render('{{ input.long | size }}', scope), EvaluationTimeUsedUp);
    assert.equal(await new TemplateEvaluator().render('{{ input.long | size }}', scope), 100_000);
  });
});

describe('a flow whose templates take too long in all', () => {
  it('fails and says so, whatever its steps make of errors', async () => {
    const steps = Array.from({ length: 40 }, (_, at) => ({
      id: `s${at}`,
      tool: 'create_skill',
      arguments: { name: `n${at}`, instructions: '{{ input.loops | times: 0 }}'.repeat(2) + LONG_LOOP },
      onError: 'continue',
    }));
    const world = await FlowWorld.open();
    const { id } = await world.flow({ steps });
    const run = await world.run(id, { loops: 1 });
    assert.equal(run.status, 'failed');
    assert.match(run.error?.message ?? '', /templates and conditions of the run take more than 2000 ms in all/);
    assert.ok(run.steps.filter(({ status }) => status === 'pending').length > 10);
  });
});

describe('a flow with more templates than can be looked through', () => {
  it('is refused before they are, and one with as many as are of use is not', async () => {
    const world = await FlowWorld.open();
    const step = (text: string, at = 0) => ({
      id: `s${at}`,
      tool: 'create_skill',
      arguments: { name: `n${at}`, instructions: text },
    });
    const short = Array.from({ length: 100 }, (_, at) => step('{{ input.a }}'.repeat(100), at));
    for (const steps of [
      [step('{{ input.a }}'.repeat(10_000))],
      Array.from({ length: 100 }, (_, at) => step('{{ input.a }}'.repeat(200), at)),
    ]) {
      const answer = await world.call('create_flow', { name: 'heavy', steps });
      assert.ok('error' in answer && answer.error.code === 'invalid_input');
      assert.match(
        answer.error.error,
        /^steps\[0\]\.arguments\.instructions: The templates of the flow have too many outputs and tags/,
      );
    }
    for (const steps of [
      [step(`${'x'.repeat(99_000)}{{ input.a }}`)],
      [step('{{ input.a }}'.repeat(800))],
      short.slice(0, 50),
    ]) {
      await world.flow({ steps });
    }
  });
});

/** Long, within the bound on memory of one template. */
const LONG_LOOP =
  '{% for a in (1..900) %}{% for b in (1..900) %}{% if a == b %}{% endif %}{% endfor %}{% endfor %}'.repeat(20);
