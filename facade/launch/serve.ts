import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Store } from '../../store/port.ts';
import { catalog } from '../../tools/catalog.ts';
import { reserveDescriptors } from '../../tools/core/load-package.ts';
import { prepareLists } from '../../tools/core/registry/listed-tool.ts';
import type { Config } from '../config/config.ts';
import type { HttpServer } from '../http/server.ts';
import { describeReach } from '../oauth/address-page.ts';
import { type RunningServer, startServer } from '../server.ts';
import { refuseUnfinishedMove } from '../store-copy/move.ts';
import type { FirstStart } from './first-start.ts';
import { welcome } from './first-start.ts';
import { oneAtATime } from './open-store.ts';
import type { Start } from './start.ts';

/** For this long, a server that has just started only answers requests. A list requested in this time is made at once. */
const FIRST_CALLS_MS = 5000;

interface ServeOptions {
  readonly start: Start;
  readonly http: HttpServer;
  prepare(): Promise<FirstStart>;
}

/** Serves the store until a signal ends the process, and prints the address. */
export async function serve(
  config: Config,
  store: Store,
  logger: Logger,
  { start, http, prepare }: ServeOptions,
): Promise<void> {
  reserveDescriptors();
  let server: RunningServer | undefined;
  let first: FirstStart = {};
  try {
    for (const place of store.status().dropped ?? [])
      logger.warn({ place }, 'cut off an unfinished line that a crash left; it had not been acknowledged');
    await refuseUnfinishedMove(store);
    server = await startServer(config, store, logger, {
      opening: start,
      http,
      async prepare() {
        first = await oneAtATime(store, prepare, start);
      },
    });
    start.step('building the dashboard');
    await server.prepareDashboard();
    start.done(stopping(server, store, config));
    surviveErrors(server);
  } catch (error) {
    await server?.close();
    await store.close();
    throw error;
  }
  await sayStarted(server, first, { config, logger });
  setTimeout(() => void prepareLists(catalog.entries.map(({ tool }) => tool)), FIRST_CALLS_MS).unref();
}

async function sayStarted(
  server: RunningServer,
  { made, warning }: FirstStart,
  { config, logger }: { readonly config: Config; readonly logger: Logger },
): Promise<void> {
  if (warning) logger.warn(warning);
  if (made) {
    const { adminEmail: email } = config;
    const { url } = await server.signIn.linkFor(email);
    console.log(welcome({ baseUrl: server.baseUrl, keys: made, email, signInUrl: url }));
  }
  console.log(describeReach(server.baseUrl, config.oauth));
  console.log(whereToFind(server));
}

/** From now on, an error that nobody caught is logged and counted. During the start it ends the process. */
export function surviveErrors({ onUncaught }: RunningServer): void {
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (error: unknown) => onUncaught(error));
  }
}

/** The address on this machine and, where it is different, the one that clients use. */
function whereToFind({ address, baseUrl }: RunningServer): string {
  const listens = `agent-admin listens on ${address}`;
  return address === baseUrl ? listens : `${listens} and gives clients the address ${baseUrl}`;
}

/** Platforms send SIGKILL 30 s after SIGTERM, and nobody would hear what was not written. */
const LONGEST_END_MS = 25_000;

/** Goes on for DRAIN_SECONDS, until a load balancer has noticed, then finishes running calls and writes everything to disk. */
function stopping(server: RunningServer, store: Store, { drainMs }: Pick<Config, 'drainMs'>): () => Promise<void> {
  return async () => {
    server.leave();
    await delay(drainMs);
    const late = delay(LONGEST_END_MS, 'late' as const);
    const closed = server.close().then(() => store.close());
    if ((await Promise.race([closed, late])) !== 'late') return;
    const { lastError = 'it does not answer' } = store.status();
    throw new Error(`the store did not take what was left to write within ${LONGEST_END_MS / 1000} s: ${lastError}`);
  };
}
