import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { WebhookDelivery } from '../../resources/webhook.ts';
import type { FileSystem } from '../../store/lowdb/files/file-system.ts';
import { catalog } from '../../tools/catalog.ts';
import type { Principal } from '../../tools/core/access/principal.ts';
import { createSecretBox } from '../../tools/core/sealing/secrets.ts';
import { FlowEngine } from '../../tools/flows/run/engine.ts';
import { kinds } from '../../tools/kinds.ts';
import type { AlertSource } from '../../tools/webhooks/alerts.ts';
import { WebhookEngine } from '../../tools/webhooks/engine.ts';
import { stoppedAtEnd } from './at-end.ts';
import { EngineWorld, type Place } from './engine-world.ts';
import { TestClock } from './server.ts';
import { until } from './until.ts';

interface Options extends Place {
  readonly clock?: TestClock;
  readonly privateAddresses?: boolean;
  readonly alerts?: readonly AlertSource[];
  readonly answerMs?: number;
  readonly files?: FileSystem;
}

interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

/** A registry with what sends for webhooks, on a store of its own. */
export class WebhookWorld extends EngineWorld {
  readonly #options: Options;
  readonly clock: TestClock;
  readonly mails: Mail[] = [];
  mailProblem: string | undefined;
  flows!: FlowEngine;
  engine!: WebhookEngine;

  private constructor(folder: string, options: Options) {
    super(folder, options);
    this.#options = options;
    this.clock = options.clock ?? new TestClock();
  }

  static open(options: Options = {}): Promise<WebhookWorld> {
    return EngineWorld.started(options, (folder) => new WebhookWorld(folder, options));
  }

  async start(): Promise<void> {
    const { privateAddresses = true, alerts = [], answerMs, files } = this.#options;
    const { now } = this.clock;
    await this.openStore({ now, probeMs: 20, ...(files && { files }) });
    const { store, onFailure } = this;
    this.engine = new WebhookEngine({
      ...{ store, catalog, kinds, now, onFailure },
      box: createSecretBox([Buffer.alloc(32, 1).toString('base64')], join(this.folder, 'none')),
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
    this.flows = new FlowEngine({ store, jobs: this.engine.jobs, onFailure });
    this.makeRegistry({ now, catalog, flows: this.flows, webhooks: this.engine });
    await this.flows.start(this.registry);
    await this.engine.start();
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
