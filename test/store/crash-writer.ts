import { openLowdbStore } from '../../store/lowdb/open.ts';
import { agentRecord, auditRecord } from './records.ts';

/** Writes until it is killed, records from 64 callers at once or rows; prints what is acknowledged. Run by the crash test as a process of its own. */
const [folder = '', round = '', kind = ''] = process.argv.slice(2);
const store = await openLowdbStore({ folder, compactBytes: 20_000 });

async function caller(name: string): Promise<void> {
  let revision = 0;
  for (let at = 0; ; at += 1) {
    const id = `agt_${name}_${Math.floor(at / 3)}`;
    const audit = `aud_${name}_${at}`;
    const written = await store.transaction(async (tx) => {
      tx.audit.append(auditRecord({ id: audit, tool: 'crash' }));
      if (at % 3 === 0) return tx.agents.insert(agentRecord(id, { id }));
      return tx.agents.update(id, { displayName: audit }, { expectedRevision: revision });
    });
    revision = written.revision;
    process.stdout.write(`${id} ${revision} ${audit}\n`);
  }
}

/** Adds rows; `dropper` removes some of them again. */
async function importer(): Promise<void> {
  for (let at = 0; ; at += 1) {
    const id = `row_${round}_${at}`;
    const row = { type: 'visits', at: new Date().toISOString(), row: { id, text: 'x'.repeat(500) } };
    await store.transaction(async (tx) => tx.rows.append([row]));
    process.stdout.write(`row ${id}\n`);
  }
}

async function dropper(): Promise<void> {
  for (;;) {
    const rows = await store.rows.read(0, 100_000);
    const gone = rows.filter(({ row }) => /[0369]$/.test(String(row.id)));
    await store.rows.drop(gone.map(({ position }) => position));
    for (const { row } of gone) process.stdout.write(`gone ${row.id}\n`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

process.stdout.write('open\n');
if (kind === 'rows') {
  importer();
  dropper();
} else {
  for (let at = 0; at < 64; at += 1) caller(`${round}_${at}`);
}
