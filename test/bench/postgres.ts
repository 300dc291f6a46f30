import { openPostgresStore } from '../../store/postgres/open.ts';
import { agentRecord } from '../store/records.ts';
import { closeAll } from '../support/at-end.ts';
import { startPostgres } from '../support/postgres.ts';

/** Guarded updates a second at 1, 16 and 64 callers, of records of their own and of one. The server writes to the disk. */
const SECONDS = 4;
const server = await startPostgres({ durable: true });
const store = await openPostgresStore({ url: server.url });
const ids = await store.transaction(async (tx) => {
  const made: string[] = [];
  for (let n = 0; n < 64; n += 1) made.push((await tx.agents.insert(agentRecord(`agent-${n}`))).id);
  return made;
});

async function rate(callers: number, idOf: (caller: number) => string): Promise<{ done: number; runs: number }> {
  const end = Date.now() + SECONDS * 1000;
  let [done, runs] = [0, 0];
  const call = async (caller: number) => {
    while (Date.now() < end) {
      await store.transaction(async (tx) => {
        runs += 1;
        const { id, revision } = await tx.agents.read(idOf(caller));
        await tx.agents.update(id, { description: `${runs}` }, { expectedRevision: revision });
      });
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: callers }, (_, caller) => call(caller)));
  return { done, runs };
}

for (const callers of [1, 16, 64]) {
  for (const [what, idOf] of [
    ['records of their own', (caller: number) => ids[caller] ?? ''],
    ['one record', () => ids[0] ?? ''],
  ] as const) {
    const { done, runs } = await rate(callers, idOf);
    console.log(
      `${callers} callers, ${what}: ${Math.round(done / SECONDS)} a second, ${(runs / done).toFixed(2)} runs for each`,
    );
  }
}
await store.close();
await server.stop();
await closeAll();
