import { readConfig } from '../config/config.ts';
import { recoverKey } from '../launch/first-start.ts';
import { openStore } from '../launch/open-store.ts';
import { runCommand } from './run-command.ts';

/** Makes a new admin key when all are lost. A server on the embedded store must be stopped. */
async function main(): Promise<void> {
  const store = await openStore(readConfig(process.env));
  try {
    console.log(await recoverKey(store));
  } finally {
    await store.close();
  }
}

runCommand(main);
