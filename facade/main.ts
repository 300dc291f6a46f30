import { resolve } from 'node:path';
import { openLowdbStore } from '../store/lowdb/open.ts';
import { explainExit } from './commands/explain-exit.ts';
import { readConfig } from './config/config.ts';
import { prepareStore } from './launch/first-start.ts';
import { createLogger } from './launch/logger.ts';
import { serve } from './launch/serve.ts';

async function main(): Promise<void> {
  const config = readConfig(process.env);
  const logger = createLogger(config);
  const store = await openLowdbStore({ folder: config.dataDir, metricsMemoryMb: config.metricsMemoryMb });
  await serve(config, store, logger, () => prepareStore(store, config));
  console.log(`The data is in ${resolve(config.dataDir)}.`);
}

main().catch(explainExit);
