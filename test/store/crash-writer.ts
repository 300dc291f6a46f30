import { openLowdbStore } from '../../store/lowdb/open.ts';
import { agentRecord, auditRecord } from './records.ts';

/** Writes from 64 callers at once until it is killed; prints each acknowledged write. Run by the crash test as a process of its own. */
const [folder = '', round = ''] = process.argv.slice(2);
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

process.stdout.write('open\n');
for (let at = 0; at < 64; at += 1) caller(`${round}_${at}`);
