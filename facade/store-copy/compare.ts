import type { Store } from '../../store/port.ts';
import { allMetrics } from '../../tools/analytics/all-metrics.ts';
import { contentsOf } from './contents.ts';
import { Digests, differing, soon } from './digests.ts';
import { metricsOf, partsOf } from './format.ts';

export interface Comparison {
  readonly what: string;
  readonly inFile: string;
  readonly inStore: string;
  readonly equal: boolean;
}

/** Counts and hashes everything on both sides, and compares the answers of every metric, as at the time of the export. */
export async function compareStore(store: Store, path: string, at: Date): Promise<Comparison[]> {
  const expiredBy = soon();
  const [kept, written] = [new Digests(expiredBy), new Digests(expiredBy)];
  for await (const part of contentsOf(store)) kept.add(part);
  for await (const { part } of partsOf(path)) written.add(part);
  const names = [...new Set([...written.names, ...kept.names])];
  const different = differing(written, kept);
  const things = names.map((what): Comparison => {
    const [inFile, inStore] = [written, kept].map((digests) => String(digests.of(what).count));
    return { what, inFile: inFile ?? '', inStore: inStore ?? '', equal: !different.includes(what) };
  });
  return [...things, ...(await compareMetrics(store, path, at))];
}

async function compareMetrics(store: Store, path: string, at: Date): Promise<Comparison[]> {
  const answers = new Map<string, object>();
  for await (const { metric, answer } of allMetrics(store, at)) answers.set(metric, answer);
  return (await metricsOf(path)).map(({ metric, answer }) => {
    const own = answers.get(metric);
    // What JSON leaves out of the answer in the file is left out of this one too.
    const equal = own !== undefined && isSame(answer, JSON.parse(JSON.stringify(own)));
    return { what: metric, inFile: 'answered', inStore: own ? 'answered' : 'not answered', equal };
  });
}

/** Stores may add up fractions in another order, so they need to agree to 9 digits only. */
const DIGITS = 1e-9;

function isSame(one: unknown, other: unknown): boolean {
  if (typeof one === 'number' && typeof other === 'number') {
    return Math.abs(one - other) <= DIGITS * Math.max(Math.abs(one), Math.abs(other));
  }
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return one === other;
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  const [first, second] = [one as Readonly<Record<string, unknown>>, other as Readonly<Record<string, unknown>>]; // objects
  return [...names].every((name) => isSame(first[name], second[name]));
}

export function tableOf(compared: readonly Comparison[]): string {
  const lines = [['', 'in the file', 'in the store', ''] as const, ...compared.map(lineOf)];
  const widths = [0, 1, 2].map((at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)));
  return lines
    .map(([what, file, kept, equal]) =>
      [what.padEnd(widths[0] ?? 0), file.padStart(widths[1] ?? 0), kept.padStart(widths[2] ?? 0), equal]
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function lineOf({ what, inFile, inStore, equal }: Comparison) {
  return [what, inFile, inStore, equal ? 'equal' : 'DIFFERS'] as const;
}
