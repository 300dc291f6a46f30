import type { Store } from '../store/port.ts';
import { StoreDamaged, StoreLocked } from '../store/errors.ts';
import { openLowdbStore } from '../store/lowdb/open.ts';
import { ConfigError, readConfig } from './config.ts';
import { prepareStore } from './first-start.ts';
import { createLogger } from './logger.ts';
import { type RunningServer, startServer } from './server.ts';
import { welcome } from './welcome.ts';

try {
  await main();
} catch (error) {
  if (!(error instanceof ConfigError || error instanceof StoreDamaged || error instanceof StoreLocked || inUse(error))) throw error;
  console.error((error as Error).message); // one of the classes above, or a system error
  process.exitCode = 1;
}

async function main(): Promise<void> {
  const config = readConfig(process.env);
  const logger = createLogger(config);
  const store = await openLowdbStore({ folder: config.dataDir });
  let server: RunningServer;
  try {
    const { newKey, warning } = await prepareStore(store, config);
    server = await startServer(config, store, logger);
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

function inUse(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
}
