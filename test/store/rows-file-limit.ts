import { closeSync, openSync } from 'node:fs';
import { openLowdbStore } from '../../store/lowdb/open.ts';
import { auditRecord } from './records.ts';

/**
 * Imports and asks while this process can open no more files, then one, two and so on, then when it can again; prints what came of it as one JSON line. Run by a test
 * as a process of its own, whose limit of open files is low.
 */
const store = await openLowdbStore({ folder: process.argv[2] ?? '' });

async function outcomeOf(name: string): Promise<string> {
  const rows = [{ uid: name, email: `${name}@example.com`, status: 'FREE', createdAt: '2026-03-01T00:00:00.000Z' }];
  try {
    const staged = await store.rows.stage({ type: 'users', rows, at: '2026-03-01T00:00:00.000Z' });
    await store.transaction(async (tx) => {
      tx.rows.commit(staged);
      tx.audit.append(auditRecord({ id: `aud_${name}`, tool: 'import_records' }));
    });
    return 'imported';
  } catch (error) {
    return `${error?.constructor.name}: ${error instanceof Error ? error.message : ''}`;
  }
}

const taken: number[] = [];
try {
  for (;;) taken.push(openSync('/dev/null', 'r'));
} catch {
  // none is left
}
const without: string[] = [];
for (let left = 0; left <= Number(process.argv[3]); left += 1) {
  without.push(await outcomeOf(`with_${left}`));
  const descriptor = taken.pop();
  if (descriptor !== undefined) closeSync(descriptor);
}
const { damage } = store.status();
for (const descriptor of taken) closeSync(descriptor);
const again = await outcomeOf('again');
console.log(JSON.stringify({ without, again, damage }));
await store.close();
