import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { mustCall, rest } from '../support/calls.ts';
import { type ServerProcess, startProcess } from '../support/child.ts';
import { startPostgres, type TestPostgres } from '../support/postgres.ts';
import { until } from '../support/until.ts';

export const KEY = `ak_threepro_${'k'.repeat(40)}`;
const SECRETS = {
  BOOTSTRAP_API_KEY: KEY,
  SESSION_SECRET: 's'.repeat(40),
  SECRETS_KEY: Buffer.alloc(32, 5).toString('base64'),
  BASE_URL: 'http://three.example',
  LOG_LEVEL: 'fatal',
};
const WRITERS = 6;
/** So many writes come to one run: a flow lets 100 runs wait, and refuses more. */
const RUN_EVERY = 20;

/** What callers were told, and how long nobody was answered. */
class Ledger {
  readonly documents = new Set<string>();
  readonly runs = new Map<string, string>();
  failures = 0;
  /** The latest refusal of each writer's call that is not answered yet. */
  readonly refusals = new Map<number, string>();
  #lastAnswer = performance.now();
  #longest = 0;

  answered(): void {
    this.#longest = Math.max(this.#longest, performance.now() - this.#lastAnswer);
    this.#lastAnswer = performance.now();
  }

  /** The longest time since the last question without any answer, in milliseconds. */
  takeGap(): number {
    const gap = Math.max(this.#longest, performance.now() - this.#lastAnswer);
    this.#longest = 0;
    this.#lastAnswer = performance.now();
    return Math.round(gap);
  }
}

export class ThreeProcesses {
  readonly ledger = new Ledger();
  readonly servers: (ServerProcess | undefined)[] = [undefined, undefined, undefined];
  folder = '';
  flowId = '';
  #postgres: TestPostgres | undefined;
  #isLoaded = false;
  #writers: Promise<void>[] = [];
  #made = 0;

  async open(): Promise<void> {
    this.folder = await mkdtemp(join(tmpdir(), 'agent-admin-three-'));
    this.#postgres = await startPostgres({ durable: true });
    for (const at of [0, 1, 2]) await this.start(at);
    const [first] = this.servers;
    assert.ok(first);
    const steps = [
      {
        id: 'note',
        tool: 'create_document',
        arguments: { title: '{{ input.title }}', content: 'x' },
        retry: { attempts: 5, delayMs: 200 },
      },
    ];
    this.flowId = (await mustCall(first, KEY, 'create_flow', { name: 'notes', steps })).id;
    const every = { kind: 'cron', expression: '* * * * *', timezone: 'UTC' };
    const quick = [{ id: 'look', tool: 'list_agents' }];
    await mustCall(first, KEY, 'create_flow', { name: 'each minute', trigger: every, steps: quick });
  }

  get env(): Record<string, string> {
    return { ...SECRETS, DATABASE_URL: String(this.#postgres?.url) };
  }

  /** `project`: the folder of another version. */
  async start(at: number, project?: string): Promise<ServerProcess> {
    const server = await startProcess(join(this.folder, String(at)), this.env, 'facade/main.ts', project);
    this.servers[at] = server;
    return server;
  }

  /** Ends it as a service manager does, while callers still come to it. */
  async stop(at: number): Promise<void> {
    assert.equal(await this.servers[at]?.stop('SIGTERM'), 0);
    this.servers[at] = undefined;
  }

  async kill(at: number): Promise<void> {
    const server = this.servers[at];
    this.servers[at] = undefined;
    await server?.stop('SIGKILL');
  }

  async cutConnections(): Promise<void> {
    const client = new pg.Client({ connectionString: this.#postgres?.url });
    client.on('error', () => {});
    await client.connect();
    await client.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and backend_type = $1',
      ['client backend'],
    );
    await client.end();
  }

  async restartDatabase(): Promise<void> {
    const postgres = this.#postgres;
    assert.ok(postgres);
    this.#postgres = await postgres.restart();
  }

  load(): void {
    this.#isLoaded = true;
    this.#writers = Array.from({ length: WRITERS }, (_, at) => this.#write(at));
  }

  async unload(): Promise<void> {
    this.#isLoaded = false;
    await Promise.all(this.#writers);
  }

  async progress(count: number): Promise<void> {
    const { ledger } = this;
    const sum = () => ledger.documents.size + ledger.runs.size;
    const aim = sum() + count;
    await until(() => sum() >= aim).catch((error) => {
      throw new Error(`${[...ledger.refusals.entries()].slice(-12).join('\n')}`, { cause: error });
    });
  }

  async close(): Promise<void> {
    for (const server of this.servers) await server?.stop('SIGKILL');
    await this.#postgres?.stop();
    await rm(this.folder, { recursive: true, force: true });
  }

  async #write(writer: number): Promise<void> {
    const { ledger } = this;
    for (let at = 0; this.#isLoaded; at += 1) {
      const title = `w${writer}-${this.#made}-${at}`;
      if (at % RUN_EVERY === RUN_EVERY - 1) {
        const { id } = await this.#callSurely('trigger_flow', { id: this.flowId, input: { title } });
        ledger.runs.set(String(id), title);
      } else {
        await this.#callSurely('create_document', { title, content: 'x' });
        ledger.documents.add(title);
      }
      await this.#read();
    }
  }

  /** Calls until the call is answered, at one process after the other, with the same key. */
  async #callSurely(tool: string, input: object): Promise<Record<string, unknown>> {
    this.#made += 1;
    const params = { name: tool, arguments: input, _meta: { idempotencyKey: `call-${this.#made}` } };
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
    for (let attempt = this.#made; ; attempt += 1) {
      const server = this.servers[attempt % 3];
      const answer =
        server && (await rest(server, 'POST', '/api/v1/mcp', { key: KEY, body: message }).catch(() => undefined));
      const result = answer?.body?.result;
      if (result && !result.isError) {
        this.ledger.answered();
        return result.structuredContent;
      }
      this.ledger.failures += 1;
      const said = JSON.stringify(answer?.body);
      this.ledger.refusals.set(this.#made, `${attempt % 3} ${said}`);
      assert.ok(!answer || /unavailable|conflict/.test(said), `${tool}: ${answer?.status} ${said}`);
      await delay(20);
    }
  }

  async #read(): Promise<void> {
    const server = this.servers[this.#made % 3];
    const answer = server && (await rest(server, 'GET', '/api/v1/agents', { key: KEY }).catch(() => undefined));
    if (answer) assert.ok([200, 503].includes(answer.status), `${answer.status} ${JSON.stringify(answer.body)}`);
  }

  /** All of the tool's list, as the first process that is there shows it. */
  async #all(tool: string, input: object): Promise<Record<string, unknown>[]> {
    const server = this.servers.find((one) => one !== undefined);
    assert.ok(server);
    const found: Record<string, unknown>[] = [];
    for (let cursor: unknown; cursor !== null; ) {
      const page = await mustCall(server, KEY, tool, { ...input, limit: 100, ...(cursor !== undefined && { cursor }) });
      found.push(...page.data);
      cursor = page.nextCursor;
    }
    return found;
  }

  /** Nothing that was acknowledged is missing, and nothing is there twice. */
  async check(): Promise<void> {
    const { documents, runs } = this.ledger;
    const isOver = ({ status }: Record<string, unknown>) => status === 'succeeded';
    let flowRuns: Record<string, unknown>[] = [];
    await until(async () => {
      flowRuns = await this.#all('list_flow_runs', {});
      return flowRuns.every(isOver);
    });
    const titles = (await this.#all('list_documents', {}))
      .map(({ title }) => String(title))
      .filter((title) => title.startsWith('w'));
    const expected = [...documents, ...runs.values()].sort();
    assert.deepEqual(titles.sort(), expected, 'each acknowledged write is there once');
    const own = flowRuns.filter(({ flowId }) => flowId === this.flowId).map(({ id }) => String(id));
    assert.deepEqual(own.sort(), [...runs.keys()].sort(), 'each run that was acknowledged is there once');
    const fired = flowRuns
      .filter(({ flowId }) => flowId !== this.flowId)
      .map(({ trigger }) => (trigger as { at?: string }).at);
    assert.equal(new Set(fired).size, fired.length, `no schedule fired twice: ${fired.join(', ')}`);
  }
}
