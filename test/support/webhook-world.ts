import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { WebhookDelivery } from '../../resources/webhook.ts';
import type { Files } from '../../store/lowdb/files/files.ts';
import type { Store } from '../../store/port.ts';
import { openPostgresStore } from '../../store/postgres/open.ts';
import { principalOf as keyPrincipal } from '../../tools/access/key-principal.ts';
import { hashSecret, newSecret, prefixOf } from '../../tools/access/key-secret.ts';
import type { Principal } from '../../tools/access/principal.ts';
import { catalog } from '../../tools/catalog.ts';
import { FlowEngine } from '../../tools/flows/run/engine.ts';
import { createSecretBox } from '../../tools/integrations/secrets.ts';
import { kinds } from '../../tools/kinds.ts';
import { createRegistry, type Registry } from '../../tools/registry/registry.ts';
import { prepareSettings } from '../../tools/settings/defaults.ts';
import type { AlertSource } from '../../tools/webhooks/alert-watch.ts';
import { WebhookEngine } from '../../tools/webhooks/engine.ts';
import { closedAtEnd, stoppedAtEnd } from './at-end.ts';
import type { ToolAnswer } from './calls.ts';
import { testFacts, toolAnswer } from './registry.ts';
import { TestClock } from './server.ts';
import { dataFolder, openStoreIn, removeFolder } from './store.ts';
import { until } from './until.ts';

interface Options {
  /** Default: one of its own, removed at the end. */
  readonly folder?: string;
  /** Instead of a folder, a database, which it may share with others. */
  readonly url?: string;
  readonly clock?: TestClock;
  readonly privateAddresses?: boolean;
  readonly alerts?: readonly AlertSource[];
  readonly answerMs?: number;
  readonly files?: Files;
}

interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

/** A registry with what sends for webhooks, on a store of its own. */
export class WebhookWorld {
  readonly #folder: string;
  readonly #options: Options;
  readonly clock: TestClock;
  readonly failures: unknown[] = [];
  readonly mails: Mail[] = [];
  mailProblem: string | undefined;
  store!: Store;
  registry!: Registry;
  flows!: FlowEngine;
  engine!: WebhookEngine;
  /** A key with every right, of an active owner. */
  admin!: Principal;

  readonly close = closedAtEnd(async () => {
    await this.stop();
    if (!this.#options.folder) await removeFolder(this.#folder);
  });

  private constructor(folder: string, options: Options) {
    this.#folder = folder;
    this.#options = options;
    this.clock = options.clock ?? new TestClock();
  }

  static async open(options: Options = {}): Promise<WebhookWorld> {
    const world = new WebhookWorld(options.folder ?? (await dataFolder()), options);
    await world.#start();
    world.admin = await world.key(['admin']);
    return world;
  }

  async #start(): Promise<void> {
    const { url, privateAddresses = true, alerts = [], answerMs, files } = this.#options;
    const { now } = this.clock;
    this.store = await (url
      ? openPostgresStore({ url, now, poolSize: 6 })
      : openStoreIn(this.#folder, { now, probeMs: 20, ...(files && { files }) }));
    await prepareSettings(this.store);
    const onFailure = (cause: unknown) => void this.failures.push(cause);
    const shared = { store: this.store, catalog, kinds, now, onFailure };
    this.engine = new WebhookEngine({
      ...shared,
      box: createSecretBox([Buffer.alloc(32, 1).toString('base64')], join(this.#folder, 'none')),
      privateAddresses,
      sendMail: async (mail) => {
        if (this.mailProblem !== undefined) throw new Error(this.mailProblem);
        this.mails.push(mail);
      },
      version: '0.0.0',
      baseUrl: 'http://127.0.0.1:9',
      alerts,
      ...(answerMs !== undefined && { answerMs }),
    });
    this.flows = new FlowEngine({ store: this.store, jobs: this.engine.jobs, onFailure });
    const server = testFacts(this.store, { now, catalog, flows: this.flows, webhooks: this.engine });
    this.registry = createRegistry({ store: this.store, server, repeatsSecret: 'the same after a restart', onFailure });
    await this.flows.start(this.registry);
    await this.engine.start();
  }

  /** A key of these rights, as a door would have found it. */
  async key(scopes: readonly string[], grants?: readonly string[]): Promise<Principal> {
    return this.store.transaction(async (tx) => {
      const email = `${Math.random().toString(36).slice(2)}@example.com`;
      const owner = await tx.adminUsers.insert({ email, role: 'owner', isActive: true });
      const secret = newSecret('key');
      const proof = { prefix: prefixOf('key', secret) ?? '', hash: hashSecret(secret) };
      const rights = { scopes: [...scopes], ...(grants && { grants: [...grants] }) };
      const made = { name: email, ...proof, ...rights, ownerId: owner.id, createdBy: owner.id };
      return keyPrincipal(await tx.apiKeys.insert(made), owner);
    });
  }

  async call(tool: string, input: object, principal: Principal = this.admin): Promise<ToolAnswer> {
    return toolAnswer(await this.registry.call({ principal, tool, input, door: 'mcp', requestId: 'test' }));
  }

  // biome-ignore lint/suspicious/noExplicitAny: tests look into outputs freely
  async must(tool: string, input: object, principal?: Principal): Promise<any> {
    const answer = await this.call(tool, input, principal);
    if ('error' in answer) throw new Error(`${tool}: ${JSON.stringify(answer.error)}`, { cause: this.failures[0] });
    return answer.output;
  }

  // biome-ignore lint/suspicious/noExplicitAny: tests look into outputs freely
  webhook(members: object, principal?: Principal): Promise<any> {
    return this.must('create_webhook', { name: 'test', ...members }, principal);
  }

  /** Newest first. */
  async deliveries(id: string, status?: WebhookDelivery['status']): Promise<WebhookDelivery[]> {
    return (await this.must('list_webhook_deliveries', { id, limit: 100, ...(status && { status }) })).data;
  }

  /** Lets the time pass, and has all sent that is due then. */
  async pass(ms: number): Promise<void> {
    this.clock.pass(ms);
    await this.send();
  }

  /** On PostgreSQL, jobs come a moment later than they were added, so they are done here at once. */
  async send(): Promise<void> {
    await this.engine.look();
    const { records } = await this.store.webhooks.find({ limit: 100 });
    for (const { id } of records) await this.engine.jobs.send_webhook?.({ webhookId: id });
    await this.engine.settled();
  }

  /** Resolves when nothing of the webhook waits any more. */
  async sent(webhookId: string): Promise<void> {
    await until(async () => {
      await this.send();
      return (await this.store.webhookDeliveries.count({ where: { webhookId, status: 'waiting' } })) === 0;
    });
  }

  async stop(): Promise<void> {
    await this.flows.close();
    await this.engine.close();
    await this.store.close();
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.#start();
  }
}

export interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into events freely
  readonly event: any;
}

type Answer = number | ((response: ServerResponse, received: Received) => void);

/** A real receiver on loopback. It answers 204 where nothing else is said. */
export interface Receiver {
  readonly url: string;
  readonly received: readonly Received[];
  answer: Answer;
  /** `<type> <id> <revision>` of what came, in order. */
  events(): string[];
  stop(): void;
}

export async function startReceiver(port = 0): Promise<Receiver> {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const body = await text(request);
    const came = { headers: request.headers, body, event: JSON.parse(body) };
    received.push(came);
    const { answer } = receiver;
    if (typeof answer === 'function') answer(response, came);
    else response.writeHead(answer).end();
  });
  stoppedAtEnd(server);
  await once(server.listen(port, '127.0.0.1'), 'listening');
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, // listening on TCP
    received,
    answer: 204,
    events: () =>
      received.map(({ event }) => [event.type, event.data.id, event.data.revision].filter(Boolean).join(' ')),
    stop() {
      server.close();
      server.closeAllConnections();
    },
  };
  return receiver;
}
