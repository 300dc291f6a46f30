import { rm } from 'node:fs/promises';
import { openLowdbStore } from '../../store/lowdb/open.ts';
import { runConformance } from './conformance.ts';
import { temporaryFolder } from './folders.ts';

runConformance('The lowdb store', async () => {
  const folder = await temporaryFolder();
  let store = await openLowdbStore({ folder });
  return {
    store,
    async reopen() {
      await store.close();
      store = await openLowdbStore({ folder });
      return store;
    },
    async dispose() {
      await store.close();
      await rm(folder, { recursive: true });
    },
  };
});
