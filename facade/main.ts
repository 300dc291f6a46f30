import { answerHelp, explainExit } from './commands/run-command.ts';
import { readConfig } from './config/config.ts';
import { howToRun } from './config/how-to-run.ts';
import { prepareStore } from './launch/first-start.ts';
import { createLogger } from './launch/logger.ts';
import { openStore, placeOfData } from './launch/open-store.ts';
import { serve } from './launch/serve.ts';
import { Start } from './launch/start.ts';
import { takePort } from './server.ts';

const USAGE = `Usage: ${howToRun('start')}

Runs the server.
Environment: PORT (default 3000), DATA_DIR, BASE_URL and more, see the guide reference-configuration.`;

async function main(start: Start): Promise<void> {
  const config = readConfig(process.env);
  const logger = createLogger(config);
  // First: probes hear that it starts, and where the port is in use nothing is changed and no key is made that nobody would see.
  const http = await takePort(config, logger);
  const store = await openStore(config, start);
  await serve(config, store, logger, { start, http, prepare: () => prepareStore(store, config) });
  console.log(`The data is in ${placeOfData(config)}.`);
}

answerHelp(USAGE);
const start = new Start();
main(start).catch((error) => {
  if (!start.signal.aborted) explainExit(error);
  process.exit();
});
