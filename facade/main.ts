import { openLowdbStore } from '../store/lowdb/open.ts';
import type { Store } from '../store/port.ts';
import { readConfig } from './config.ts';
import { explainExit } from './explain-exit.ts';
import { prepareStore } from './first-start.ts';
import { createLogger } from './logger.ts';
import { type RunningServer, startServer } from './server.ts';
import { welcome } from './welcome.ts';

async function main(): Promise<void> {
  const config = readConfig(process.env);
  const logger = createLogger(config);
  const store = await openLowdbStore({ folder: config.dataDir });
  let server: RunningServer;
  try {
    // Listening comes first: a port in use must not cost the key, which is shown once.
    server = await startServer(config, store, logger);
    const { newKey, warning } = await prepareStore(store, config);
    if (warning) logger.warn(warning);
    if (newKey) console.log(welcome(server.baseUrl, newKey));
    console.log(`agent-admin listens on ${server.baseUrl}`);
  } catch (error) {
    await store.close();
    throw error;
  }
  stopOnSignal(server, store);
}

/** SIGTERM and Ctrl-C: stop accepting, finish what runs, flush, exit 0. A second signal ends at once. */
function stopOnSignal(server: RunningServer, store: Store): void {
  let stopping = false;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, async () => {
      if (stopping) process.exit(1);
      stopping = true;
      await server.close();
      await store.close();
      process.exit(0);
    });
  }
}

main().catch(explainExit);
