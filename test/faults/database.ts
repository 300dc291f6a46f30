import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { type PostgresServerOptions, startPostgres, startReplica, type TestPostgres } from '../support/postgres.ts';
import { openSmallDisk, type SmallDisk } from '../support/small-disk.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';
import { until } from '../support/until.ts';
import { CommitCutter } from './commit-cutter.ts';

const DISK_MB = 400;
/** Of the operator: whatever takes longer has failed. */
const LIMITS = { connectionTimeoutMillis: 30_000, query_timeout: 60_000 };
/** So small that the log takes little of the disk, and so few connections that they can all be taken. */
const SETTINGS = ['max_wal_size=64MB', 'min_wal_size=32MB', 'max_connections=90', 'wal_retrieve_retry_interval=100ms'];

/** PostgreSQL in which everything can break, on a disk of its own where that is permitted, with a proxy before it for each process. */
export class FaultedDatabase {
  readonly proxies: readonly TcpProxy[];
  readonly cutter: CommitCutter;
  readonly disk: SmallDisk | undefined;
  /** How many failovers there were. */
  failovers = 0;
  #server: TestPostgres;
  #old: TestPostgres[] = [];

  private constructor(
    server: TestPostgres,
    wire: { readonly proxies: readonly TcpProxy[]; readonly cutter: CommitCutter },
    disk: SmallDisk | undefined,
  ) {
    this.#server = server;
    this.proxies = wire.proxies;
    this.cutter = wire.cutter;
    this.disk = disk;
  }

  static async open(processes: number, settings: PostgresServerOptions['settings'] = []): Promise<FaultedDatabase> {
    const disk = await openSmallDisk(DISK_MB);
    const folder = disk && { folder: join(disk.folder, 'postgres') };
    if (folder) mkdirSync(folder.folder);
    const server = await startPostgres({ durable: true, settings: [...SETTINGS, ...settings], ...folder });
    const cutter = new CommitCutter();
    const proxies: TcpProxy[] = [];
    for (let at = 0; at < processes; at += 1) proxies.push(await TcpProxy.before(server.url, cutter.watch));
    return new FaultedDatabase(server, { proxies, cutter }, disk);
  }

  /** As it is, past the proxies. */
  get url(): string {
    return this.#server.url;
  }

  /** By which the process reaches it. */
  addressOf(process: number): string {
    const proxy = this.proxies[process];
    if (!proxy) throw new Error(`There is no proxy for process ${process}.`);
    return proxy.inFrontOf(this.#server.url);
  }

  async restart(how: 'fast' | 'immediate'): Promise<void> {
    this.#server = await this.#server.restart(how);
  }

  /** Runs statements as its operator does, whatever it is set to. */
  async administer(...statements: string[]): Promise<Record<string, unknown>[]> {
    const client = await this.#connect({ options: '-c default_transaction_read_only=off', ...LIMITS });
    try {
      let rows: Record<string, unknown>[] = [];
      for (const statement of statements) rows = (await client.query(statement)).rows;
      return rows;
    } finally {
      await client.end();
    }
  }

  /** Ends the sessions of clients, or those in such a state. Returns how many. */
  async endSessions(where = 'true'): Promise<number> {
    const text = `select count(pg_terminate_backend(pid))::int as count from pg_stat_activity
      where pid <> pg_backend_pid() and backend_type = 'client backend' and ${where}`;
    const [row] = await this.administer(text);
    return Number(row?.count);
  }

  /** As a standby is, and as some providers make a database that is nearly full. */
  async setReadOnly(isReadOnly: boolean): Promise<void> {
    await this.administer(
      `alter system ${isReadOnly ? 'set default_transaction_read_only = on' : 'reset default_transaction_read_only'}`,
      'select pg_reload_conf()',
    );
  }

  /** Takes all connections that are left. Returns what gives them back, and how many they are. */
  async takeConnections(): Promise<{ readonly count: number; free(): Promise<void> }> {
    const taken: pg.Client[] = [];
    const free = async () => {
      await Promise.all(taken.map((client) => client.end().catch(() => {})));
    };
    for (;;) {
      try {
        taken.push(await this.#tryToConnect({ application_name: 'others' }));
      } catch (error) {
        if (isFull(error)) return { count: taken.length, free };
        await free();
        throw error;
      }
    }
  }

  async #tryToConnect(config: pg.ClientConfig): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: this.url, ...config });
    client.on('error', () => {});
    await client.connect();
    return client;
  }

  /** Sessions of processes that were killed may take all connections for some seconds. */
  async #connect(config: pg.ClientConfig): Promise<pg.Client> {
    const end = performance.now() + LIMITS.connectionTimeoutMillis;
    for (;;) {
      try {
        return await this.#tryToConnect(config);
      } catch (error) {
        if (!isFull(error) || performance.now() > end) throw error;
        await delay(100);
      }
    }
  }

  /** Holds a lock that everybody needs who writes to the table, or reads it. */
  async lock(table: string): Promise<() => Promise<void>> {
    const client = await this.#connect({ application_name: 'others' });
    await client.query(`begin; lock table ${table} in access exclusive mode`);
    return () => client.end();
  }

  /** Ends sessions in the midst of transactions, as `idle_in_transaction_session_timeout` does, until so many were ended or the time is over. */
  async endTransactions(count: number, longestMs: number): Promise<number> {
    let ended = 0;
    for (const end = performance.now() + longestMs; ended < count && performance.now() < end; await delay(5))
      ended += await this.endSessions(`state = 'idle in transaction'`);
    return ended;
  }

  /** The server crashes, and a synchronous standby takes its place: all that was acknowledged is there. */
  async failOver(): Promise<void> {
    const primary = this.#server;
    const standby = await startReplica(primary, { settings: SETTINGS });
    const isSynchronous = `select from pg_stat_replication where sync_state = 'sync'`;
    await this.administer(`alter system set synchronous_standby_names = '*'`, 'select pg_reload_conf()');
    await until(async () => (await this.administer(isSynchronous)).length > 0);
    // What was acknowledged before it was synchronous.
    const [at] = await this.administer('select pg_current_wal_lsn()::text as lsn');
    const isThere = `select from pg_stat_replication where flush_lsn >= '${at?.lsn}'`;
    await until(async () => (await this.administer(isThere)).length > 0);
    await primary.crash();
    this.#old.push(primary);
    this.#server = standby;
    for (const proxy of this.proxies) proxy.lead(standby.url);
    await this.administer('select pg_promote()');
    this.failovers += 1;
  }

  async close(): Promise<void> {
    for (const proxy of this.proxies) await proxy.close();
    for (const server of [this.#server, ...this.#old]) await server.stop();
    await this.disk?.close();
  }
}

function isFull(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '53300';
}
