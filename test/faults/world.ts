import { callsOf, makeCapsule } from '../support/calls.ts';
import { capsuleDoor, type Door, doorsOf } from '../support/door-probes.ts';
import { startModelServer } from '../support/model-server.ts';
import { randomFrom } from '../support/random.ts';
import type { StoreKind } from '../support/store.ts';
import { connectHttp, startUpstream, toolCalled } from '../support/upstream.ts';
import { github, triggerFor } from '../support/webhook-senders.ts';
import { startReceiver } from '../support/webhook-world.ts';
import { Accounts } from './accounts.ts';
import { Chats, modelOfChats } from './chats.ts';
import { type Caller, Client } from './client.ts';
import type { FarEnds, World } from './fault.ts';
import { type FlowIds, Flows } from './flows.ts';
import { Imports } from './imports.ts';
import { Load } from './load.ts';
import { Outgoing } from './outgoing.ts';
import { documents, Records, skills } from './records.ts';
import { FaultedServer } from './server.ts';
import { Streams } from './streams.ts';
import { Surroundings } from './surroundings.ts';
import { Violations, type Work } from './work.ts';

const KEY = `ak_faultsfa_${'k'.repeat(40)}`;
const ENV = {
  BOOTSTRAP_API_KEY: KEY,
  SECRETS_KEY: Buffer.alloc(32, 6).toString('base64'),
  SESSION_SECRET: 's'.repeat(40),
  BASE_URL: 'http://faults.example',
  MODEL_NAME: 'tiny',
  STORAGE_LIMIT_MB: '0',
  STORAGE_LIMIT_PER_CALLER_MB: '0',
  LOG_LEVEL: 'error',
};

export interface WorldOptions {
  readonly store: StoreKind;
  readonly processes: number;
  readonly seed: number;
  readonly isLong: boolean;
}

/** Processes on one store, with their far ends and a load at all doors. */
export class FaultWorld implements World {
  readonly store: StoreKind;
  readonly isLong: boolean;
  readonly violations = new Violations();
  readonly servers: FaultedServer[] = [];
  #spare: FaultedServer | undefined;
  readonly surroundings: Surroundings;
  readonly far: FarEnds;
  doors: readonly Door[] = doorsOf(KEY);
  /** How long a start took that nothing disturbed. */
  startMs = 0;
  /** Since when all processes should answer well, by `performance.now()`. */
  calmSince = 0;
  #load: Load | undefined;
  #client: Client | undefined;

  private constructor({ store, isLong }: WorldOptions, surroundings: Surroundings, far: FarEnds) {
    this.store = store;
    this.isLong = isLong;
    this.surroundings = surroundings;
    this.far = far;
  }

  static async open(options: WorldOptions): Promise<FaultWorld> {
    const [model, upstream, receiver] = [
      await startModelServer(),
      await startUpstream(toolCalled('echo')),
      await startReceiver(),
    ];
    model.play(modelOfChats);
    const surroundings = await Surroundings.open(options.store);
    const world = new FaultWorld(options, surroundings, { model, upstream, receiver });
    await world.#start(options);
    return world;
  }

  get spare(): FaultedServer {
    if (!this.#spare) throw new Error('The world is not open.');
    return this.#spare;
  }

  /** What was wrong with processes since the last question. */
  takeWrong(): string[] {
    return [...this.servers, this.spare].flatMap((server) => server.takeWrong());
  }

  get load(): Load {
    if (!this.#load) throw new Error('The world is not open.');
    return this.#load;
  }

  async close(): Promise<void> {
    if (this.#client) this.#client.isClosed = true;
    await this.#load?.close();
    for (const server of this.servers) await server.end('SIGTERM');
    await this.surroundings.close();
    await Promise.all([this.far.model.close(), this.far.upstream.close()]);
    this.far.receiver.stop();
  }

  async #start({ processes, seed }: WorldOptions): Promise<void> {
    const { surroundings, far, servers } = this;
    const MODEL_BASE_URL = await surroundings.through('model', far.model.baseUrl);
    const [upstreamUrl, receiverUrl] = [
      await surroundings.through('upstream', far.upstream.url),
      await surroundings.through('receiver', far.receiver.url),
    ];
    const open = (at: number) => FaultedServer.open(at, () => ({ ...ENV, MODEL_BASE_URL, ...surroundings.envOf(at) }));
    for (let at = 0; at < processes; at += 1) servers.push(await open(at));
    this.#spare = await open(processes);
    const begun = performance.now();
    for (const server of servers) await server.start();
    await Promise.all(servers.map((server) => server.ready()));
    this.startMs = performance.now() - begun;
    this.#load = await this.#fill(seed, { upstreamUrl, receiverUrl });
  }

  /** Makes what the works need, and begins them. */
  async #fill(seed: number, urls: { readonly upstreamUrl: string; readonly receiverUrl: string }): Promise<Load> {
    const { violations, servers, far } = this;
    const [first] = servers;
    if (!first) throw new Error('There is no process.');
    const server = { baseUrl: first.baseUrl, adminKey: KEY };
    const { must } = callsOf(server);
    const random = randomFrom(seed + 1_000_003);
    const client = new Client(servers, violations, random, () => this.calmSince);
    this.#client = client;
    const caller = async (name: string): Promise<Caller> => {
      const { id, secret } = await must('create_api_key', { name, scopes: ['admin'] });
      return { key: secret, id, asked: 0, answered: 0 };
    };
    const capsule = await makeCapsule(server, { allowedTools: ['*_skill', '*_document'] });
    client.capsule = { key: capsule.token, id: capsule.id, capsuleId: capsule.id, asked: 0, answered: 0 };
    this.doors = [...doorsOf(KEY), capsuleDoor(capsule)];
    await must('create_agent', { name: 'ada', displayName: 'Ada', tools: ['create_document'] });
    await connectHttp({ ...server } as Parameters<typeof connectHttp>[0], urls.upstreamUrl);
    const events = ['skill.created', 'skill.updated', 'skill.deleted'];
    await must('create_webhook', { name: 'faults', target: { url: urls.receiverUrl }, events });
    const probe = await must('create_skill', { name: 'probe' });
    const outgoing = new Outgoing(far.receiver, violations);
    const reader = await caller('reader');
    const subject = { type: 'key', id: reader.id };
    const budget = await must('create_budget', { subject, measure: 'calls', period: 'month', limit: 10_000_000 });
    const admin: Caller = { key: KEY, id: '', asked: 0, answered: 0 };
    const records = async (name: string, type: typeof skills, onChange?: typeof outgoing.changed) =>
      new Records(name, {
        client,
        caller: await caller(name),
        violations,
        random,
        type,
        ...(onChange && { onChange }),
      });
    const works: Work[] = [
      await records('skills', skills, outgoing.changed),
      await records('talents', skills, outgoing.changed),
      await records('documents', documents),
      await records('papers', documents),
      new Imports(client, await caller('imports'), violations),
      new Chats(client, await caller('chats'), violations, random),
      new Flows(await flowsFor(must), client, await caller('flows'), violations, random),
      outgoing,
      new Streams(servers, probe.id, client, await caller('streams'), violations),
      // Last, so that all that the others were told is in the audit log.
      new Accounts(client, admin, reader, budget.id, violations),
    ];
    return new Load(works, violations, random);
  }
}

async function flowsFor(must: ReturnType<typeof callsOf>['must']): Promise<FlowIds> {
  const made = { title: '{{ input.tag }}', content: 'x', tags: ['{{ input.tag }}'] };
  const steps = [{ id: 'make', tool: 'create_document', arguments: made, retry: { attempts: 5, delayMs: 200 } }];
  const look = [{ id: 'look', tool: 'list_agents' }];
  const make = async (name: string, more: object) => String((await must('create_flow', { name, ...more })).id);
  return {
    webhook: await make('webhook', { trigger: triggerFor(github), steps }),
    manual: await make('manual', { steps }),
    event: await make('event', { trigger: { kind: 'event', type: 'skill.created' }, steps: look }),
    schedule: await make('schedule', {
      trigger: { kind: 'cron', expression: '* * * * *', timezone: 'UTC' },
      steps: look,
    }),
  };
}
