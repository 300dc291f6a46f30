import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { MIGRATION_LOCK } from '../../store/postgres/migrate.ts';
import { makeCapsule, mustCall } from '../support/calls.ts';
import { type StartingProcess, spawnServer } from '../support/child.ts';
import { capsuleDoor, type Door, DoorProbes, doorsOf, sessionDoor, webhookDoor } from '../support/door-probes.ts';
import { freePort } from '../support/free-port.ts';
import { send } from '../support/http.ts';
import { type TestDatabase, testDatabase } from '../support/postgres.ts';
import { RawSockets } from '../support/raw-sockets.ts';
import { signIn } from '../support/sign-in.ts';
import { dataFolder, removeFolder, type StoreKind } from '../support/store.ts';
import { until } from '../support/until.ts';
import { github, triggerFor } from '../support/webhook-senders.ts';

const KEY = `ak_startstp_${'k'.repeat(40)}`;
const ENV = {
  BOOTSTRAP_API_KEY: KEY,
  SECRETS_KEY: Buffer.alloc(32, 3).toString('base64'),
  RATE_LIMIT_PER_MINUTE: '0',
  LOG_LEVEL: 'error',
};
const EMPTY = 'template1';

interface Probed {
  readonly server: StartingProcess;
  readonly probes: DoorProbes;
  readonly sockets: RawSockets;
}

/** Processes on one store, which are probed at every door from before they start until they are gone. */
export class StartsAndStops {
  readonly #ports: number[];
  readonly #folder: string;
  readonly #database: TestDatabase | undefined;
  #doors: readonly Door[] = doorsOf(KEY);

  private constructor(ports: number[], folder: string, database: TestDatabase | undefined) {
    this.#ports = ports;
    this.#folder = folder;
    this.#database = database;
  }

  static async open(kind: StoreKind, processes: number): Promise<StartsAndStops> {
    const ports: number[] = [];
    while (ports.length < processes) ports.push(await freePort());
    return new StartsAndStops(ports, await dataFolder(), kind === 'postgres' ? await testDatabase(EMPTY) : undefined);
  }

  async close(): Promise<void> {
    await this.#database?.drop();
    await removeFolder(this.#folder);
  }

  /** Starts one that nobody asks, and ends it when it has said on the console what it waits for. */
  async endWaiting(text: RegExp): Promise<void> {
    const server = await spawnServer(this.#folder, this.#env(0));
    await until(() => text.test(server.said()) || server.process.exitCode !== null);
    server.process.kill('SIGTERM');
    assert.deepEqual(await server.ended, { code: 0, signal: null }, server.said());
    assert.match(server.said(), text);
  }

  /** Keeps the processes from starting until the work is done. */
  async heldUp(work: () => Promise<void>): Promise<void> {
    if (!this.#database) {
      await writeFile(join(this.#folder, 'lock.json'), JSON.stringify({ pid: 1, host: 'elsewhere' }));
      return work();
    }
    const client = new pg.Client({ connectionString: this.#database.url });
    await client.connect();
    await client.query(`select pg_advisory_lock(${MIGRATION_LOCK})`);
    await work().finally(() => client.end());
  }

  start(): Promise<Probed[]> {
    return Promise.all(this.#ports.map((port) => this.#startOn(port)));
  }

  /** Has all doors be probed from the next start on, also those that somebody has to open first. All processes run. */
  async openAllDoors(): Promise<void> {
    const server = { baseUrl: `http://127.0.0.1:${this.#ports[0]}`, adminKey: KEY };
    const capsule = await makeCapsule(server, { allowedTools: ['list_agents'] });
    const steps = [{ id: 'a', tool: 'list_agents', arguments: {} }];
    const flow = await mustCall(server, KEY, 'create_flow', { name: 'hook', trigger: triggerFor(github), steps });
    const cookie = await signIn(server);
    const sent = github.sign('{}', 0);
    const webhook = webhookDoor(flow.id, sent);
    assert.equal((await send(`${server.baseUrl}${webhook.path}`, webhook)).status, 202);
    this.#doors = [...doorsOf(KEY), capsuleDoor(capsule), webhook, sessionDoor(cookie)];
  }

  /** Resolves when every door of every process was answered as it should be. */
  async ready(started: readonly Probed[]): Promise<void> {
    await Promise.all(
      started.map(async ({ server, probes }) => {
        const ended = server.ended.then(({ code, signal }) => {
          throw new Error(`the server ended with ${code ?? signal}: ${server.said()}`);
        });
        ended.catch(() => {});
        await Promise.race([probes.allRight(), ended]);
      }),
    );
  }

  /** Waits for the end of all, and finds nothing wrong: no answer, no exit, nothing left behind. */
  async gone(started: readonly Probed[]): Promise<void> {
    for (const { server, probes, sockets } of started) {
      const exit = await server.ended;
      await Promise.all([probes.stop(), sockets.stop()]);
      const answered = [...probes.answers.keys()].filter((answer) => !answer.startsWith('no answer'));
      // Before it hears signals, the system ends it.
      const isUnbegun = exit.signal === 'SIGTERM' && answered.length === 0 && server.said() === '';
      if (!isUnbegun) assert.deepEqual(exit, { code: 0, signal: null }, server.said());
      assert.deepEqual([...probes.wrong, ...sockets.wrong], [], answered.join());
    }
    assert.ok(!existsSync(join(this.#folder, 'lock.json')), 'the lock of the folder is left');
    if (this.#database) assert.deepEqual(await heldIn(this.#database.url), []);
  }

  async #startOn(port: number): Promise<Probed> {
    const probes = new DoorProbes(`http://127.0.0.1:${port}`, this.#doors);
    const sockets = new RawSockets(port);
    return { server: await spawnServer(this.#folder, this.#env(port)), probes, sockets };
  }

  #env(port: number): Record<string, string> {
    return { ...ENV, PORT: String(port), ...(this.#database && { DATABASE_URL: this.#database.url }) };
  }
}

/** What processes that are gone still hold. */
async function heldIn(url: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query(`select to_regclass('cluster_holds') is not null as made`);
    if (!rows[0].made) return [];
    return (await client.query('select key from cluster_holds')).rows;
  } finally {
    await client.end();
  }
}
