import { readConfig } from '../config/config.ts';
import { howToRun } from '../config/how-to-run.ts';
import { recoverKey } from '../launch/first-start.ts';
import { openStore } from '../launch/open-store.ts';
import { answerHelp, runCommand } from './run-command.ts';

const USAGE = `Usage: ${howToRun('recover-key')}

Makes a new admin key when all are lost, and prints it. A server on the embedded store must be stopped.
Environment: that of the server.`;

/** Makes a new admin key when all are lost. A server on the embedded store must be stopped. */
async function main(): Promise<void> {
  const store = await openStore(readConfig(process.env));
  try {
    console.log(await recoverKey(store));
  } finally {
    await store.close();
  }
}

answerHelp(USAGE);
runCommand(main);
