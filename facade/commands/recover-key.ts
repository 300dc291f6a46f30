import { openLowdbStore } from '../../store/lowdb/open.ts';
import { readConfig } from '../config/config.ts';
import { recoverKey } from '../launch/first-start.ts';
import { explainExit } from './explain-exit.ts';

/** Makes a new admin key when all are lost. The server must be stopped. */
async function main(): Promise<void> {
  const { dataDir } = readConfig(process.env);
  const store = await openLowdbStore({ folder: dataDir });
  try {
    console.log(await recoverKey(store));
  } finally {
    await store.close();
  }
}

main().catch(explainExit);
