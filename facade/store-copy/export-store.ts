import { existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import type { AuditHead } from '../../store/audit-proof/head.ts';
import { OperatorError } from '../../store/errors.ts';
import { newId } from '../../store/ids.ts';
import type { Store } from '../../store/port.ts';
import { allMetrics } from '../../tools/analytics/all-metrics.ts';
import { sealingKeys } from '../../tools/core/sealing/secrets.ts';
import { LineWriter } from './checked-lines.ts';
import { contentsOf, type Part } from './contents.ts';
import { Digests, differing, nameOf, soon } from './digests.ts';
import type { End, Head } from './format.ts';

interface ExportOptions {
  readonly version: string;
  readonly now: Date;
  /** Others may write during the export, so the store is read again afterwards and must be unchanged. */
  readonly isShared: boolean;
  onProgress?(lines: number): void;
}

const TOLD_EVERY = 200;

/** Writes all that the store holds into a new file, and the answers of all metrics. The file appears complete or not at all. */
export async function exportStore(store: Store, path: string, options: ExportOptions): Promise<End> {
  if (existsSync(path)) throw new OperatorError(`${path} is there already; name a file that is not.`);
  const draft = `${path}.part`;
  await rm(draft, { force: true });
  const writer = await LineWriter.create(draft);
  try {
    const end = await writeAll(store, writer, options);
    await writer.close();
    await rename(draft, path);
    return end;
  } catch (error) {
    await writer.close().catch(() => {});
    await rm(draft, { force: true });
    throw error;
  }
}

async function writeAll(store: Store, writer: LineWriter, options: ExportOptions): Promise<End> {
  const { version, now, onProgress, isShared } = options;
  const written = new Digests(soon());
  const head: Head = { format: 1, id: newId('exp'), at: now.toISOString(), version, store: store.kind };
  await writer.write({ export: head });
  const counts: Record<string, number> = {};
  const keys = new Set<string>();
  await store.audit.proof?.sign();
  for await (const part of contentsOf(store)) {
    await writer.write(part);
    if (isShared) written.add(part);
    counts[nameOf(part)] = (counts[nameOf(part)] ?? 0) + sizeOf(part);
    if ('records' in part) for (const key of sealingKeys(part.of)) keys.add(key);
    if (writer.lines % TOLD_EVERY === 0) onProgress?.(writer.lines);
  }
  for await (const heads of headsIn(store)) await writer.write({ heads });
  for await (const { metric, answer } of allMetrics(store, now)) await writer.write({ metric, answer });
  if (isShared) await requireUnchanged(store, written);
  const end: End = { counts, secretsKeys: [...keys].sort() };
  await writer.write({ end });
  return end;
}

/** What was read at different times is the state of one moment where nothing of it has changed since. @throws OperatorError */
async function requireUnchanged(store: Store, written: Digests): Promise<void> {
  const now = new Digests(written.expiredBy);
  for await (const part of contentsOf(store)) now.add(part);
  const changed = differing(written, now);
  if (changed.length === 0) return;
  throw new OperatorError(
    `The database changed while it was exported (${changed.join(', ')}). Stop its processes, or export a copy of it: pg_dump, then pg_restore into another database.`,
  );
}

const HEADS_OF_A_LINE = 200;

/** What proves the audit log. It stays in the file: the log of another store has a proof of its own. */
async function* headsIn({ audit: { proof } }: Store): AsyncGenerator<readonly AuditHead[]> {
  let heads: AuditHead[] = [];
  for await (const { head } of proof?.heads() ?? []) {
    if (head) heads.push(head);
    if (heads.length < HEADS_OF_A_LINE) continue;
    yield heads;
    heads = [];
  }
  if (heads.length > 0) yield heads;
}

function sizeOf(part: Part): number {
  if ('file' in part) return 1;
  return 'audit' in part ? part.audit.length : part.of.length;
}
