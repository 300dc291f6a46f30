import { DuckRowStore } from '../../../store/duckdb/row-store.ts';
import { Database } from '../../../store/postgres/database.ts';
import { openPostgresStore } from '../../../store/postgres/open.ts';
import type { RowStore } from '../../../store/rows-port.ts';
import { derivedTables } from '../../../store/sql/derived-tables.ts';
import { rawTables } from '../../../store/sql/raw-tables.ts';
import type { LoadedPart } from '../../../store/sql/writing/load.ts';
import { testDatabase } from '../../support/postgres.ts';

/** Where the rows of worlds are. */
export interface WorldTables {
  readonly rows: RowStore;
  /** Replaces all rows by these. */
  load(parts: readonly LoadedPart[]): Promise<void>;
  write(parts: readonly LoadedPart[]): Promise<void>;
  close(): Promise<void>;
}

/** Rows in the memory of this process. */
export function memoryTables(): WorldTables {
  const rows = new DuckRowStore({ memoryMb: 128 });
  return {
    rows,
    load: (parts) => rows.load(parts),
    async write(parts) {
      for (const part of parts) {
        if ('erased' in part) await rows.erase(part.erased);
        else await (await rows.stage(part)).commit([]);
      }
    },
    close: () => rows.close(),
  };
}

const names = [...Object.keys(rawTables), ...derivedTables.map(({ name }) => name)].map((name) => `imported.${name}`);
const CLEAR = `truncate ${names.join(', ')}; update imported.state set version = version + 1`;

/** Rows in a PostgreSQL database of their own. */
export async function postgresTables(): Promise<WorldTables> {
  const { url, drop } = await testDatabase();
  const store = await openPostgresStore({ url });
  const database = new Database({ url, poolSize: 1 });
  const write: WorldTables['write'] = async (parts) => {
    for (const part of parts) {
      const staged = 'erased' in part ? undefined : await store.rows.stage(part);
      await store.transaction(async (tx) => {
        if (staged) tx.rows.commit(staged);
        if ('erased' in part) for (const uid of part.erased) tx.rows.erase(uid);
      });
    }
  };
  return {
    rows: store.rows,
    write,
    async load(parts) {
      await database.query({ text: CLEAR });
      await write(parts);
    },
    async close() {
      await store.close();
      await database.close();
      await drop();
    },
  };
}
