import { readdirSync, readFileSync } from 'node:fs';
import { Database } from '../../store/postgres/database.ts';
import { openPostgresStore } from '../../store/postgres/open.ts';
import { RowConnection } from '../../store/postgres/rows/connection.ts';
import { type ImportedRow, recordOf } from '../../store/rows/records.ts';
import { rawTables } from '../../store/sql/raw-tables.ts';
import { insertRows } from '../../store/sql/writing/batch.ts';
import { startPostgres, type TestPostgres } from '../support/postgres.ts';

/** A PostgreSQL server of its own that writes to the disk, with rows that go straight into their tables. */
export async function startBenchPostgres() {
  const server = await startPostgres({ durable: true });
  return {
    url: server.url,
    open: () => openPostgresStore({ url: server.url }),
    processorMs: () => processorMs(server),
    stop: server.stop,
    async fill(type: 'events' | 'visits', rows: Iterable<readonly ImportedRow[]>) {
      const database = new Database({ url: server.url, poolSize: 1 });
      let seq = 0;
      await database.use(async (session) => {
        await session.query({ text: 'set search_path = imported' });
        const writer = new RowConnection(session);
        for (const batch of rows) {
          const records = batch.map((row) => ({ ...recordOf(type, row), seq: seq++ }));
          await insertRows(writer, type, rawTables[type], records);
        }
        await session.query({ text: 'update state set next_seq = greatest(next_seq, $1)', values: [seq] });
      });
      await database.close();
    },
    /** What a server does by itself some time after many rows came. */
    async settle() {
      const database = new Database({ url: server.url, poolSize: 1 });
      await database.patiently((session) => session.query({ text: 'vacuum analyze' }));
      await database.close();
    },
  };
}

const TICK_MS = 10;

/** For how long processors worked for the server so far, as Linux tells it. */
function processorMs({ pid }: TestPostgres): number {
  let ticks = 0;
  for (const name of readdirSync('/proc')) {
    const stat = /^\d+$/.test(name) ? statOf(name) : [];
    // What follows the name of the program: its state, then its parent; later its own time, and that of its children that ended.
    const isServer = Number(name) === pid;
    if (isServer || Number(stat[1]) === pid) ticks += sum(stat.slice(11, isServer ? 15 : 13));
  }
  return ticks * TICK_MS;
}

const sum = (texts: readonly string[]) => texts.reduce((all, text) => all + Number(text), 0);

function statOf(pid: string): string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return []; // it has ended
  }
}
