import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { openLowdbStore } from '../../store/lowdb/open.ts';
import { auditRecord } from './records.ts';

/**
 * Imports until the operating system refuses, then after space has returned; prints what it saw as one JSON line. Run by the full disk test
 * as a process of its own, whose file size limit does the refusing. `long` rows fill the log until the engine merges it into the file; the
 * `first` import finds no room for the file.
 */
const [folder = '', size] = process.argv.slice(2);
const store = await openLowdbStore({ folder });
const acknowledged: string[] = [];
const refused: string[] = [];
const reasons = new Set<string>();
const messages: string[] = [];
const ROWS = 2000;

async function importBatch(name: string): Promise<boolean> {
  const at = '2026-03-01T00:00:00.000Z';
  const rows = Array.from({ length: ROWS }, (_, n) => {
    const id = `${name}_${n}`;
    return { id, visitorId: id, at, page: `/${randomBytes(size === 'long' ? 1200 : 100).toString('base64')}` };
  });
  try {
    const staged = await store.rows.stage({ type: 'visits', rows, at });
    await store.transaction(async (tx) => {
      tx.rows.commit(staged);
      tx.audit.append(auditRecord({ id: `aud_${name}`, tool: 'import_records' }));
    });
    acknowledged.push(name);
    return true;
  } catch (error) {
    refused.push(name);
    reasons.add(String(error?.constructor.name));
    messages.push(String(error));
    return false;
  }
}

async function count(): Promise<number> {
  const [found] = await store.rows.query<{ rows: number }>({
    name: 'rows',
    sql: 'select count(*) as rows from visits',
  });
  return (found?.rows ?? 0) / ROWS;
}

const isFirst = size === 'first';
let batch = 0;
while (batch < 200 && (await importBatch(isFirst ? size : `full${batch}`))) batch += 1;
const whileFull = isFirst ? 0 : await count();
if (!isFirst) await importBatch('again');
const files = readdirSync(folder).filter((name) => name.includes('.duckdb'));
const relieved = spawnSync('prlimit', ['--pid', String(process.pid), '--fsize=unlimited']).status === 0;
await importBatch('later');
const after = isFirst && !relieved ? 0 : await count();
await store.close();
process.stdout.write(
  `${JSON.stringify({ acknowledged, refused, reasons: [...reasons], messages: messages.slice(0, 1), files, whileFull, relieved, after })}\n`,
);
