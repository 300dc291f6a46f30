import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import { openTestRegistry, principalOf } from '../support/registry.ts';

/**
 * The handbook of an invented company: 300 documents, and questions that one of them answers, written before the search. Keywords and plain
 * questions use its words; paraphrased ones share no word with the passage that answers them; the last have no answer.
 */
const read = (name: string) => readFileSync(new URL(name, import.meta.url), 'utf8');
const registry = await openTestRegistry();
const principal = principalOf({ type: 'api-key', id: 'key_1', scopes: ['admin'] });
const files = new Map<string, string>();
for (const part of read('handbook.txt').split('\f\n')) {
  const [file = '', title = '', ...lines] = part.split('\n');
  const input = { title: title.replace('# ', ''), content: [title, ...lines].join('\n') };
  files.set((await registry.must(principal, 'create_document', input)).id, file);
}

interface Found {
  readonly documentId: string;
  readonly path: string;
  readonly weak?: true;
}

const asked: { kind: string; found: Found[]; file: string; heading: string }[] = [];
for (const line of read('handbook-questions.tsv').trimEnd().split('\n')) {
  const [kind = '', q = '', file = '', heading = ''] = line.split('\t');
  asked.push({ kind, file, heading, found: (await registry.must(principal, 'search_passages', { q })).data });
}

/** The share of questions of a kind whose passage is among the first five, as `0.95`. */
function rate(kind: string): string {
  const questions = asked.filter((one) => one.kind === kind);
  const right = questions.filter(({ found, file, heading }) =>
    found.some(({ documentId, path }) => files.get(documentId) === file && path.includes(heading)),
  );
  return (right.length / questions.length).toFixed(2);
}

const readme = readFileSync(new URL('../../tools/README.md', import.meta.url), 'utf8');

for (const [kind, floor] of [
  ['keywords', 0.97],
  ['plain', 0.97],
  ['paraphrased', 0],
] as const) {
  it(`the passage that answers ${kind} questions is found as often as the README says`, () => {
    const found = rate(kind);
    assert.ok(Number(found) >= floor, found);
    assert.ok(readme.includes(`| ${kind} | 20 | ${found} |`), `| ${kind} | 20 | ${found} |`);
  });
}

it('what has no answer is found weak or not at all', () => {
  const none = asked.filter(({ kind }) => kind === 'none');
  assert.equal(none.length, 20);
  for (const { found } of none) assert.ok(found.every(({ weak }) => weak));
});
