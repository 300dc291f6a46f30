import { collections } from '../../store/collections.ts';
import { Collection } from '../../store/lowdb/records/collection.ts';
import { search } from '../../store/lowdb/text/text-search.ts';
import type { Row } from '../../store/row.ts';

/** Searches 100,000 memories of 20 words from a Zipf distribution; prints medians of 21 runs. Run with `npx tsx test/bench/search.ts`. */
const COUNT = 100_000;
const VOCABULARY = 30_000;

let state = 7;
function random(): number {
  state = (state * 48271) % 2147483647;
  return state / 2147483647;
}

const syllables = 'ka ro mi ten sol ur pa lin de vo sha ber qui nox ti gra'.split(' ');
const word = () =>
  Array.from({ length: 2 + Math.floor(random() * 3) }, () => syllables[Math.floor(random() * 16)]).join('');
const vocabulary = [...new Set(Array.from({ length: VOCABULARY * 1.5 }, word))].slice(0, VOCABULARY);
const common = () => vocabulary[Math.floor(vocabulary.length ** random()) - 1] ?? '';

function memoryRow(at: number): Row {
  const content = `The user ${Array.from({ length: 18 }, common).join(' ')}`;
  const createdAt = new Date(Date.UTC(2026, 0, 1) + at * 1000).toISOString();
  return { id: `mem_${at}`, createdAt, content, tags: [`t${at % 50}`], scope: 'agent', agentId: `agt_${at % 200}` };
}

function median(work: () => unknown): number {
  const times = Array.from({ length: 21 }, () => {
    const started = performance.now();
    work();
    return performance.now() - started;
  });
  return times.sort((a, b) => a - b)[10] ?? 0;
}

const memories = new Collection('memories', collections.memories);
const rows = Array.from({ length: COUNT }, (_, at) => memoryRow(at));
for (const row of rows) memories.set(row.id, row);
const heapBefore = process.memoryUsage().heapUsed;
const started = performance.now();
memories.indexText();
if (memories.text === undefined) throw new Error('The index takes in what waits when it is asked for.');
console.log(`index of ${COUNT} memories: ${Math.round(performance.now() - started)} ms`);
console.log(`heap of the index: ${Math.round((process.memoryUsage().heapUsed - heapBefore) / 1e6)} MB`);

const rare = vocabulary[4000] ?? '';
const middling = vocabulary[300] ?? '';
const frequent = vocabulary[3] ?? '';
const queries: Readonly<Record<string, string>> = {
  'a rare word': rare,
  'a middling word': middling,
  'a frequent word': frequent,
  'a word of every memory': 'user',
  'three words': `${frequent} ${middling} ${rare}`,
  'a sentence': `the user ${frequent} ${middling} ${rare} ${vocabulary[900]} ${vocabulary[1200]}`,
  'three letters': rare.slice(0, 3),
  'a misspelt word': `${rare.slice(0, 3)}x${rare.slice(4)}`,
  'an unknown word': 'zzzzzzzzzz',
};
for (const [name, text] of Object.entries(queries)) {
  const { count } = search(memories, undefined, { text, limit: 20 });
  const all = median(() => search(memories, undefined, { text, limit: 20 }));
  const own = median(() => search(memories, undefined, { text, where: { agentId: 'agt_7' }, limit: 20 }));
  console.log(`${name}: ${all.toFixed(2)} ms (${count} found), of one agent ${own.toFixed(2)} ms`);
}
let at = 0;
console.log(
  `changing a memory: ${median(() => {
    at += 997;
    const row = rows[at];
    if (row) memories.set(row.id, { ...row, content: `${row.content} changed` });
  }).toFixed(3)} ms`,
);
