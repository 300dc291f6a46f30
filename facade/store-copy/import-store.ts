import { withoutSeal } from '../../store/audit-proof/seal.ts';
import { OperatorError } from '../../store/errors.ts';
import type { Store, Transaction, Writer } from '../../store/port.ts';
import { type Comparison, compareStore } from './compare.ts';
import type { AnyRecord, Part } from './contents.ts';
import { checkFile, partsOf } from './format.ts';
import { beginMove, MOVE_ID } from './move.ts';

interface ImportOptions {
  /** Ids of the keys that this server opens secrets with. */
  readonly secretsKeys: readonly string[];
  /** Imports secrets too that no key opens. */
  readonly withoutKeys: boolean;
  onProgress?(line: number): void;
}

const TOLD_EVERY = 200;

/**
 * Fills an empty store line by line and compares both. An interrupted import goes on when begun again; until all is equal, no server
 * starts on the store.
 */
export async function importAll(store: Store, path: string, options: ImportOptions): Promise<readonly Comparison[]> {
  const { head, end } = await checkFile(path);
  if (!options.withoutKeys) requireKeys(end.secretsKeys, options.secretsKeys);
  const done = await beginMove(store, head.id);
  for await (const { line, part } of partsOf(path)) {
    if (line > done) await put(store, part, line);
    if (line % TOLD_EVERY === 0) options.onProgress?.(line);
  }
  await store.rows.rebuild();
  const compared = await compareStore(store, path, new Date(head.at));
  if (compared.every(({ equal }) => equal)) await store.transaction((tx) => tx.moves.delete(MOVE_ID));
  return compared;
}

/** Puts the part into the store, with the note that it is there. */
async function put(store: Store, part: Part, line: number): Promise<void> {
  if ('file' in part) await store.files.put(part.file, Buffer.from(part.bytes, 'base64'));
  const staged = 'rows' in part ? await store.rows.restore({ table: part.rows, rows: part.of }) : undefined;
  try {
    await store.transaction(async (tx) => {
      if (staged) tx.rows.commit(staged);
      if ('records' in part) await insertAll(tx, part);
      if ('audit' in part) for (const entry of part.audit) tx.audit.append(withoutSeal(entry)); // the log of this store has a proof of its own
      await tx.moves.update(MOVE_ID, { line });
    });
  } finally {
    await staged?.discard();
  }
}

async function insertAll(tx: Transaction, { records, of }: Extract<Part, { records: unknown }>): Promise<void> {
  const writer = tx[records] as Writer<AnyRecord>; // the store checks each record by its schema
  for (const record of of) await writer.insert(record);
}

function requireKeys(needed: readonly string[], own: readonly string[]): void {
  const missing = needed.filter((key) => !own.includes(key));
  if (missing.length === 0) return;
  const has = own.length === 0 ? 'none' : own.join(', ');
  throw new OperatorError(
    `The file holds secrets that are sealed with the key ${missing.join(', ')}, and this server has ${has}. Set SECRETS_KEY to that of the server it comes from (without one, it is in the file secrets.key of its data folder), or add --without-keys and give the secrets of integrations anew afterwards.`,
  );
}
