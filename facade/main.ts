import { openLowdbStore } from '../store/lowdb/open.ts';
import { readConfig } from './config.ts';
import { explainExit } from './explain-exit.ts';
import { prepareStore } from './first-start.ts';
import { createLogger } from './logger.ts';
import { serve } from './serve.ts';

async function main(): Promise<void> {
  const config = readConfig(process.env);
  const logger = createLogger(config);
  const store = await openLowdbStore({ folder: config.dataDir });
  await serve(config, store, logger, () => prepareStore(store, config));
}

main().catch(explainExit);
