import type { Socket } from 'node:net';
import type pg from 'pg';

/** How long a statement may be under way before the server is asked about it. A large one may take its time to get there. */
const LATE_MS = 1500;
const BYTES_PER_MS = 100;
const LOOK_MS = 500;

/** A server process without work: the statement never came there, or its answer never came here. */
const WITHOUT_WORK = /^idle/;

interface Waiting {
  readonly since: number;
  /** Bytes of the connection before the statement. */
  readonly sent: number;
  /** How many bytes had come when the server was asked last and had no work for it. */
  suspectedAt: number | undefined;
}

export interface ServerProcess {
  readonly pid: number;
  readonly state: string;
  /** Since when the server runs: after a failover, another one has other processes by the same numbers. */
  readonly server: string;
}

/** What the server says of its processes by their numbers; undefined where it does not answer. It ends those that hold a transaction if it should. */
export type AskServer = (
  pids: readonly number[],
  ends: boolean,
) => Promise<ReadonlyMap<number, ServerProcess> | undefined>;

/** What `pg` knows of a connection, which its types do not tell. */
type Inside = { readonly processID?: number; readonly connection: { readonly stream: Socket } };

/**
 * Ends connections that went silent while a statement is under way: the server, asked on a new connection, twice has no work for them. A
 * statement that only takes long is waited for. Else each would keep its place in the pool, and its locks, until the time limit of statements.
 */
export class SilentConnections {
  readonly #ask: AskServer;
  readonly #waiting = new Map<pg.ClientBase, Waiting>();
  #timer: NodeJS.Timeout | undefined;

  constructor(ask: AskServer) {
    this.#ask = ask;
  }

  /** Runs the statement, and watches its connection until the answer. */
  async watch<Result>(client: pg.ClientBase, statement: () => Promise<Result>): Promise<Result> {
    if (!serverOf.has(client)) return statement();
    const waiting = { since: performance.now(), sent: streamOf(client).bytesWritten, suspectedAt: undefined };
    this.#waiting.set(client, waiting);
    this.#timer ??= setTimeout(() => void this.#look(), LATE_MS).unref();
    try {
      return await statement();
    } finally {
      if (this.#waiting.get(client) === waiting) this.#waiting.delete(client);
    }
  }

  async #look(): Promise<void> {
    const late = [...this.#waiting].filter(([client, waiting]) => isLate(client, waiting));
    if (late.length > 0) await this.#judge(late);
    this.#timer = this.#waiting.size > 0 ? setTimeout(() => void this.#look(), LOOK_MS).unref() : undefined;
  }

  async #judge(late: readonly (readonly [pg.ClientBase, Waiting])[]): Promise<void> {
    const asked = performance.now();
    const states = await this.#ask(
      late.map(([client]) => numberOf(client)),
      false,
    );
    // A machine that is overloaded may keep one process of the server waiting and not another.
    if (!states || performance.now() - asked > LOOK_MS) return;
    const lost: number[] = [];
    for (const [client, waiting] of late) {
      if (this.#waiting.get(client) !== waiting) continue; // its answer has come
      const found = states.get(numberOf(client));
      const isThere = found !== undefined && found.server === serverOf.get(client);
      const isWithoutWork = !isThere || WITHOUT_WORK.test(found.state);
      if (isWithoutWork && isSuspect(client, waiting)) {
        streamOf(client).destroy();
        if (isThere) lost.push(found.pid);
      }
      waiting.suspectedAt = isWithoutWork ? streamOf(client).bytesRead : undefined;
    }
    if (lost.length > 0) await this.#ask(lost, true);
  }
}

/** Connections whose other end is the process of the server that they name: not those to a pooler. */
const serverOf = new WeakMap<pg.ClientBase, string>();

/** By its own word. */
export function noteServerProcess(client: pg.ClientBase, { pid, server }: Pick<ServerProcess, 'pid' | 'server'>): void {
  if (pid === numberOf(client)) serverOf.set(client, server);
}

export const SERVER_PROCESS = 'select pg_backend_pid() as pid, pg_postmaster_start_time()::text as server';

function isLate(client: pg.ClientBase, { since, sent }: Waiting): boolean {
  return performance.now() - since >= LATE_MS + (streamOf(client).bytesWritten - sent) / BYTES_PER_MS;
}

/** Nothing of its answer has come since. */
function isSuspect(client: pg.ClientBase, { suspectedAt }: Waiting): boolean {
  return suspectedAt === streamOf(client).bytesRead;
}

export function streamOf(client: pg.ClientBase): Socket {
  return insideOf(client).connection.stream;
}

function numberOf(client: pg.ClientBase): number {
  return insideOf(client).processID ?? 0;
}

function insideOf(client: pg.ClientBase): Inside {
  return client as unknown as Inside;
}

/** `$1`: the asked, `$2`: whether their transactions end, as nobody else will end them. Processes of other roles have no state here. */
export const SERVER_PROCESSES = `select pid, coalesce(state, '') as state, pg_postmaster_start_time()::text as server,
    case when $2 and state like 'idle in transaction%' then pg_terminate_backend(pid) end as ended
  from pg_stat_activity where pid = any ($1::int[])`;
