import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Store } from '../../store/port.ts';
import { catalog } from '../../tools/catalog.ts';
import { prepareLists } from '../../tools/registry/listed-tool.ts';
import { welcome } from '../commands/welcome.ts';
import type { Config } from '../config/config.ts';
import { refuseUnfinishedMove } from '../move-over/move.ts';
import { describeReach } from '../oauth/reach.ts';
import { type RunningServer, startServer } from '../server.ts';
import type { FirstStart } from './first-start.ts';
import { oneAtATime } from './one-at-a-time.ts';

/** For so long a server that has started does nothing but answer. A list that is asked for meanwhile is made at once. */
const FIRST_CALLS_MS = 5000;

/** Serves the store until a signal ends the process, and prints the address. `prepare` finds out whether this is the first start. */
export async function serve(
  config: Config,
  store: Store,
  logger: Logger,
  prepare: () => Promise<FirstStart>,
): Promise<void> {
  let server: RunningServer | undefined;
  try {
    for (const place of store.status().dropped ?? [])
      logger.warn({ place }, 'cut off an unfinished line that a crash left; it had not been acknowledged');
    await refuseUnfinishedMove(store);
    let first: FirstStart = {};
    server = await startServer(config, store, logger, {
      // After the port is taken: if it is in use, the key must not be lost, since it is shown only once.
      async prepare() {
        first = await oneAtATime(store, prepare);
      },
    });
    stopOnSignal(server, store, config);
    await server.prepareDashboard();
    const { made, warning } = first;
    if (warning) logger.warn(warning);
    if (made) {
      const { adminEmail: email } = config;
      const { url } = await server.signIn.linkFor(email);
      console.log(welcome({ baseUrl: server.baseUrl, keys: made, email, signInUrl: url }));
    }
    console.log(describeReach(server.baseUrl, config.oauth));
    console.log(whereToFind(server));
    setTimeout(() => void prepareLists(catalog.entries.map(({ tool }) => tool)), FIRST_CALLS_MS).unref();
  } catch (error) {
    await server?.close();
    await store.close();
    throw error;
  }
}

/** The address on this machine and, where it is different, the one that clients use. */
function whereToFind({ address, baseUrl }: RunningServer): string {
  const listens = `agent-admin listens on ${address}`;
  return address === baseUrl ? listens : `${listens} and gives clients the address ${baseUrl}`;
}

/**
 * On SIGTERM or Ctrl-C: goes on for as long as a load balancer needs to notice (DRAIN_SECONDS), then accepts no more calls, finishes running
 * ones, writes everything to disk and exits with 0. A second signal exits at once.
 */
function stopOnSignal(server: RunningServer, store: Store, { drainMs }: Pick<Config, 'drainMs'>): void {
  let stopping = false;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, async () => {
      if (stopping) process.exit(1);
      stopping = true;
      server.leave();
      await delay(drainMs);
      await server.close();
      await store.close();
      process.exit(0);
    });
  }
}
