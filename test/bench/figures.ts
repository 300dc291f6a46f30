import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { root } from '../../facade/launch/bundle.ts';
import type { Compared, Latencies } from './load.ts';
import type { StartTimes } from './start-time.ts';

export interface Row extends Compared {
  readonly name: string;
  readonly records: number;
}

export interface Figures {
  readonly rows: readonly Row[];
  readonly alone: { readonly name: string; readonly ours: Latencies; readonly theirs: Latencies };
  readonly starts: StartTimes;
}

/** One line for a terminal, and the cells of a table. */
export function cellsOf({ name, records, ours, theirs }: Row): Record<string, string> {
  return {
    scenario: name,
    agents: grouped(records),
    'requests/s': grouped(ours.rate),
    'rate / Express': (ours.rate / theirs.rate).toFixed(2),
    'µs of processor time': grouped(ours.cpu),
    'µs / Express': (ours.cpu / theirs.cpu).toFixed(2),
    'p50 ms': grouped(ours.p50),
  };
}

/** Replaces what the README of the tests says between the marks of this name. */
export function writeBlock(name: string, content: string): void {
  const path = join(root, 'test/README.md');
  const [begin, end] = [`<!-- ${name} -->`, `<!-- end of ${name} -->`];
  const text = readFileSync(path, 'utf8');
  const [before, rest] = text.split(begin);
  const after = rest?.split(end)[1];
  if (after === undefined) throw new Error(`${path} has no place for it; put ${begin} and ${end} into it.`);
  writeFileSync(path, `${before}${begin}\n${content}\n${end}${after}`);
}

export function writeFigures(figures: Figures): void {
  writeBlock('figures', textOf(figures));
}

function textOf({ rows, alone, starts }: Figures): string {
  const cells = rows.map(cellsOf);
  const names = Object.keys(cells[0] ?? {});
  const line = (values: readonly string[]) => `| ${values.join(' | ')} |`;
  const head = [line(names), line(names.map(() => '---'))];
  const model = cpus()[0]?.model.trim();
  const { ours, theirs } = alone;
  return [
    `Measured on ${new Date().toISOString().slice(0, 10)}, Node ${process.versions.node}, ${cpus().length} × ${model}, load average ${loadavg()[0]?.toFixed(0)}.`,
    '',
    ...head,
    ...cells.map((row) => line(Object.values(row))),
    '',
    `- One request after the other on one connection (${alone.name}): p50 ${shown(ours.p50)} ms, p99 ${shown(ours.p99)} ms; Express: p50 ${shown(theirs.p50)} ms, p99 ${shown(theirs.p99)} ms.`,
    `- From the start of the process to the first answer, on an empty store: ${grouped(starts.first)} ms the first time, ${grouped(starts.second)} ms from then on.`,
  ].join('\n');
}

function grouped(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

function shown(milliseconds: number): string {
  return milliseconds.toFixed(2);
}
