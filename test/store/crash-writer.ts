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

/** Imports rows, each import with an audit entry; `remover` removes some users again, and tables are rebuilt. */
async function importer(): Promise<void> {
  for (let at = 0; ; at += 1) {
    const id = `row_${round}_${at}`;
    const time = new Date(Date.UTC(2026, 0, 1) + at * 600_000).toISOString();
    const rows = [1, 2, 3].map((n) => ({ id: `${id}_${n}`, visitorId: `v${at % 7}`, uid: id, at: time, page: '/' }));
    const staged = await store.rows.stage({ type: 'visits', rows, at: time });
    await store.transaction(async (tx) => {
      tx.rows.commit(staged);
      tx.audit.append(auditRecord({ id: `aud_${id}`, requestId: id, tool: 'crash' }));
    });
    process.stdout.write(`row ${id}\n`);
    if (/[258]$/.test(id)) {
      await store.transaction(async (tx) => tx.rows.erase(id));
      process.stdout.write(`gone ${id}\n`);
    }
  }
}

async function rebuilder(): Promise<void> {
  for (;;) {
    await store.rows.rebuild();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

process.stdout.write('open\n');
if (kind === 'rows') {
  importer();
  rebuilder();
} else {
  for (let at = 0; at < 64; at += 1) caller(`${round}_${at}`);
}
