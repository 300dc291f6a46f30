import { openPostgresStore } from '../../store/postgres/open.ts';
import { testDatabase, withoutPostgres } from '../support/postgres.ts';
import { runConformance } from './conformance.ts';

runConformance(
  'The PostgreSQL store',
  async () => {
    const { url, drop } = await testDatabase();
    let store = await openPostgresStore({ url });
    return {
      store,
      async reopen() {
        await store.close();
        store = await openPostgresStore({ url });
        return store;
      },
      async dispose() {
        await store.close();
        await drop();
      },
    };
  },
  { skip: withoutPostgres },
);
