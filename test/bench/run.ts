import { cellsOf, type Row, writeFigures } from './figures.ts';
import { compare, oneByOne } from './load.ts';
import { KEY, makeCapsule, reads, type Scenario, writes } from './scenarios.ts';
import { type Measurable, prepare, start, stop } from './servers.ts';
import { measureStarts } from './start-time.ts';

/**
 * Requests per second of the server beside idiomatic Express routes that answer the same (`baseline.ts`), in alternating rounds of one run,
 * and the processor time of each request, which says the same while other programs are busy too. The ratios to the baseline are the figures;
 * the absolute numbers are this machine's. `--readme` writes them into the README of the tests; other arguments are words of the names of
 * scenarios to measure, all of them unless given.
 */
const toReadme = process.argv.includes('--readme');
const wanted = process.argv.slice(2).filter((word) => word !== '--readme');
const SIZES = [1_000, 100_000];

const opened = new Map<number, number>();
const rows: Row[] = [];
const isWanted = ({ name }: Scenario) => wanted.every((word) => name.includes(word));

/** Runs all scenarios on the smallest store, and on larger ones those that depend on the size. Latencies are those of the first. */
async function measure(baseline: Measurable, size: number) {
  const subject = await start('subject', String(size), KEY);
  opened.set(size, subject.openMs);
  const all = reads(subject, await makeCapsule(subject));
  const chosen = size === SIZES[0] ? all : all.slice(-1);
  for (const scenario of [...chosen, ...writes(`${size}`)].filter(isWanted)) {
    const row = { name: scenario.name, records: size, ...(await compare(subject, baseline, scenario)) };
    console.log(JSON.stringify(cellsOf(row)));
    rows.push(row);
  }
  const [first] = all;
  const alone =
    first && size === SIZES[0] ? { name: first.name, ...(await oneByOne(subject, baseline, first)) } : undefined;
  await stop(subject);
  return alone;
}

const starts = await measureStarts();
await prepare();
const baseline = await start('baseline');
const alone = await measure(baseline, SIZES[0] ?? 0);
if (!wanted.length || toReadme) for (const size of SIZES.slice(1)) await measure(baseline, size);
await stop(baseline);
console.table(rows.map(cellsOf));
console.log(JSON.stringify({ starts, alone, opened: Object.fromEntries(opened) }));
if (toReadme && alone) writeFigures({ rows, alone, starts });
