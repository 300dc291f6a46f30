import { openLowdbStore } from '../../store/lowdb/open.ts';
import { agentRecord, auditRecord } from './records.ts';

/** Writes pairs of records without pause until it is killed; prints each acknowledged pair. Run by the backup test as a process of its own. */
const store = await openLowdbStore({ folder: process.argv[2] ?? '', compactBytes: 100_000 });

async function caller(name: number): Promise<void> {
  for (let at = 0; ; at += 1) {
    const id = `agt_${name}_${at}`;
    await store.transaction(async (tx) => {
      await tx.agents.insert(agentRecord(id, { id, instructions: 'x'.repeat(500) }));
      await tx.skills.insert({ id: id.replace('agt', 'skl'), name: id });
      tx.audit.append(auditRecord({ id: id.replace('agt', 'aud') }));
    });
    process.stdout.write(`${id}\n`);
    if (at % 2 === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

for (let at = 0; at < 8; at += 1) caller(at);
