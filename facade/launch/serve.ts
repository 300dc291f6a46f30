import type { Logger } from 'pino';
import type { Store } from '../../store/port.ts';
import { welcome } from '../commands/welcome.ts';
import type { Config } from '../config.ts';
import { type RunningServer, startServer } from '../server.ts';
import type { FirstStart } from './first-start.ts';

/** Serves the store until a signal ends the process, and says where; `prepare` may find that it is the first start. */
export async function serve(
  config: Config,
  store: Store,
  logger: Logger,
  prepare: () => Promise<FirstStart>,
): Promise<void> {
  let server: RunningServer;
  try {
    // Listening comes first: a port in use must not cost the key, which is shown once.
    server = await startServer(config, store, logger);
    const { made, warning } = await prepare();
    if (warning) logger.warn(warning);
    if (made) {
      const { url } = await server.signIn.linkFor(config.adminEmail);
      console.log(welcome({ baseUrl: server.baseUrl, keys: made, signInUrl: url }));
    }
    console.log(whereToFind(server));
  } catch (error) {
    await store.close();
    throw error;
  }
  stopOnSignal(server, store);
}

/** The address it has on this machine, and the one that clients are to use where that is another. */
function whereToFind({ address, baseUrl }: RunningServer): string {
  const listens = `agent-admin listens on ${address}`;
  return address === baseUrl ? listens : `${listens} and tells clients to use ${baseUrl}`;
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
