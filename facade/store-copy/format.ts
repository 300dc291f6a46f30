import { z } from 'zod';
import { auditEntry } from '../../resources/audit-entry.ts';
import { auditHead, type StoredHead } from '../../store/audit-proof/head.ts';
import type { SealedEntry } from '../../store/audit-proof/seal.ts';
import type { FoundEntry } from '../../store/audit-proof/verify.ts';
import { OperatorError } from '../../store/errors.ts';
import { type CheckedLine, checkedLines, damaged } from './checked-lines.ts';
import type { Part } from './contents.ts';

const head = z.object({
  export: z.object({
    format: z.literal(1),
    id: z.string().min(1).max(100),
    at: z.iso.datetime(),
    version: z.string(),
    store: z.string(),
  }),
});
export type Head = z.infer<typeof head>['export'];

const end = z.object({
  end: z.object({
    /** How many of what are in the file. */
    counts: z.record(z.string(), z.int()),
    /** Ids of the keys that its secrets are sealed with. */
    secretsKeys: z.array(z.string()),
  }),
});
export type End = z.infer<typeof end>['end'];

const metric = z.object({ metric: z.string(), answer: z.record(z.string(), z.unknown()) });
type MetricLine = z.infer<typeof metric>;

/** Reads the whole file before anything of it is used. @throws OperatorError that names the line if it is not as it was written */
export async function checkFile(path: string): Promise<{ readonly head: Head; readonly end: End }> {
  let first: string | undefined;
  let last: CheckedLine = { line: 0, json: '' };
  for await (const read of checkedLines(path)) {
    first ??= read.json;
    last = read;
  }
  const begins = head.safeParse(parsed(first ?? '')).data;
  if (!begins) throw new OperatorError(`${path} is not an export of agent-admin, or is one of a later version.`);
  const ends = end.safeParse(parsed(last.json)).data;
  if (!ends) throw damaged(path, last.line + 1);
  return { head: begins.export, end: ends.end };
}

/** The parts of a store in a file that was checked, with their lines. */
export async function* partsOf(path: string): AsyncGenerator<{ readonly line: number; readonly part: Part }> {
  for await (const { line, json } of checkedLines(path)) {
    const value = JSON.parse(json) as Part | object; // a line that the exporter wrote
    if ('records' in value || 'audit' in value || 'rows' in value || 'file' in value) yield { line, part: value };
  }
}

export async function metricsOf(path: string): Promise<MetricLine[]> {
  const found: MetricLine[] = [];
  for await (const { json } of checkedLines(path))
    if (json.startsWith('{"metric"')) found.push(metric.parse(parsed(json)));
  return found;
}

/** The audit log of an exported file, whose lines need not be as they were written. */
export function auditOfExport(path: string): { entries: AsyncIterable<FoundEntry>; heads: AsyncIterable<StoredHead> } {
  return { entries: entriesOf(path), heads: headsOf(path) };
}

async function* entriesOf(path: string): AsyncGenerator<FoundEntry> {
  for await (const { json } of checkedLines(path)) {
    if (!json.startsWith('{"audit"')) continue;
    for (const entry of exportedEntries.parse(parsed(json)).audit) yield { entry };
  }
}

async function* headsOf(path: string): AsyncGenerator<StoredHead> {
  for await (const { json } of checkedLines(path)) {
    if (!json.startsWith('{"heads"')) continue;
    for (const head of exportedHeads.parse(parsed(json)).heads) {
      const known = auditHead.safeParse(head).data;
      yield known ? { head: known } : { head: undefined, damage: 'it is not a head' };
    }
  }
}

const exportedEntries = z.object({ audit: z.array(z.custom<SealedEntry>(isEntry)) });
const exportedHeads = z.object({ heads: z.array(z.unknown()) });

function isEntry(value: unknown): boolean {
  return auditEntry.safeParse(value).success;
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
