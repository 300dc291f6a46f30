import { explainExit } from './commands/explain-exit.ts';
import { readConfig } from './config/config.ts';
import { prepareStore } from './launch/first-start.ts';
import { createLogger } from './launch/logger.ts';
import { openStore, placeOfData } from './launch/open-store.ts';
import { serve } from './launch/serve.ts';

async function main(): Promise<void> {
  const config = readConfig(process.env);
  const logger = createLogger(config);
  const store = await openStore(config);
  await serve(config, store, logger, () => prepareStore(store, config));
  console.log(`The data is in ${placeOfData(config)}.`);
}

main().catch(explainExit);
