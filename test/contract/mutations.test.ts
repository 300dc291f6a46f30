import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { it } from 'node:test';
import { filesBelow } from '../support/files-below.ts';
import { mutated, mutations } from '../support/mutations.ts';

/** Paths are those of the project: tests run in its folder. */
const tests = filesBelow('test').filter((path) => path.endsWith('.test.ts'));

it('the faults that can be planted have one place each, another text for it, a name of their own and a test', () => {
  assert.ok(mutations.length > 0);
  assert.equal(new Set(mutations.map(({ name }) => name)).size, mutations.length);
  for (const mutation of mutations) {
    assert.ok(existsSync(mutation.file), mutation.name);
    const text = readFileSync(mutation.file, 'utf8');
    assert.notEqual(mutated(text, mutation), text, mutation.name);
    assert.ok(
      tests.some((path) => path.includes(mutation.test)),
      `${mutation.name}: ${mutation.test}`,
    );
  }
});
