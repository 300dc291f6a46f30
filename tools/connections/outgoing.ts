import type { ConnectionRecord } from '../../resources/connection.ts';
import { newId } from '../../store/ids.ts';
import type { Store } from '../../store/port.ts';
import { createRateLimit, type RateLimit } from '../core/access/rate-limit.ts';
import { ToolError } from '../core/errors.ts';
import { createFetch } from '../core/outbound/fetch.ts';
import { AddressRefused, addressRefusal } from '../core/outbound/ip-addresses.ts';
import { Scrubber } from '../core/outbound/untrusted-text.ts';
import type { SecretBox } from '../core/sealing/secrets.ts';
import { postSigned, retryAfterMs } from '../webhooks/attempt.ts';
import { type HttpExchange, inDoubt, NOT_SENT, quote, refused, shownHeaders } from './answers.ts';
import { type OpenConnection, openConnection } from './connection-secrets.ts';
import { ClientCredentialTokens } from './oauth-tokens.ts';
import type { PlannedRequest } from './request-plan.ts';

declare module '../core/registry/context.ts' {
  interface ServerContext {
    readonly outgoing?: Outgoing | undefined;
  }
}

export interface OutgoingMail {
  readonly to: readonly string[];
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  readonly attachments: readonly MailAttachment[];
}

export interface MailAttachment {
  readonly filename: string;
  readonly content: Buffer;
  readonly contentType: string;
  /** Of a picture that the text shows. */
  readonly cid?: string;
}

interface OutgoingOptions {
  readonly store: Store;
  readonly box: SecretBox;
  readonly privateAddresses: boolean;
  readonly version: string;
  /** Undefined where no mail server is set. Resolves to the id of the mail when the mail server has taken it. */
  readonly sendMail: ((mail: OutgoingMail) => Promise<string>) | undefined;
  /** How long an answer may take as a whole. */
  readonly answerMs?: number;
  now(): Date;
  onFailure(cause: unknown): void;
}

/** Bytes of a body that are kept. */
export const MOST_KEPT = 1_000_000;
export const ANSWER_MS = 30_000;
/** How exactly the time of the last request is kept. */
const USED_MS = 60_000;

/** What a request says of who asks, and the secrets that an answer may not show. */
interface Identity {
  readonly headers: Readonly<Record<string, string>>;
  readonly secrets: readonly string[];
  readonly token?: string;
}

/** Sends requests, messages and mails to others. */
export class Outgoing {
  readonly box: SecretBox;
  readonly #options: OutgoingOptions;
  readonly #guarded: ReturnType<typeof createFetch>;
  readonly #tokens: ClientCredentialTokens;
  readonly #limits = new Map<number, RateLimit>();

  constructor(options: OutgoingOptions) {
    this.box = options.box;
    this.#options = options;
    this.#guarded = createFetch({ ...options, mostBytes: MOST_KEPT, cuts: true });
    this.#tokens = new ClientCredentialTokens(this.#guarded.fetch, options.now);
  }

  /** Undefined where no mail server is set. */
  get sendMail(): OutgoingOptions['sendMail'] {
    return this.#options.sendMail;
  }

  /** Why nothing is sent to this address. Undefined if it is allowed. */
  async refusal(url: string): Promise<string | undefined> {
    return this.#options.privateAddresses ? undefined : addressRefusal(new URL(url));
  }

  /** @throws ToolError (rate_limited, unavailable) */
  async request(record: ConnectionRecord, planned: PlannedRequest, signal?: AbortSignal): Promise<HttpExchange> {
    return this.#noted(
      record,
      async (connection, ending) => {
        const first = await this.#identity(connection, ending);
        const answer = await this.#exchange(connection, planned, first, ending);
        if (answer.status !== 401 || first.token === undefined) return answer;
        const second = await this.#identity(connection, ending, first.token);
        return this.#exchange(connection, planned, second, ending);
      },
      signal,
    );
  }

  /** Posts a message in the form of Slack. @throws ToolError (rate_limited, unavailable, conflict) */
  async slack(record: ConnectionRecord, message: object, signal?: AbortSignal): Promise<void> {
    const headers = { 'content-type': 'application/json' };
    return this.#noted(
      record,
      async (connection, ending) => {
        const { name, webhookUrl, secrets } = connection;
        const planned = { url: new URL(webhookUrl), method: 'POST', headers, body: JSON.stringify(message) } as const;
        const answer = await this.#exchange(connection, planned, { headers: {}, secrets }, ending);
        if (answer.status < 200 || answer.status >= 300) throw refused(name, answer.status, { words: quote(answer) });
      },
      signal,
    );
  }

  /** Posts a message in the form of Standard Webhooks. Resolves to its id. @throws ToolError (rate_limited, unavailable, conflict) */
  async message(record: ConnectionRecord, data: object, signal?: AbortSignal): Promise<string> {
    const { version, now, answerMs = ANSWER_MS } = this.#options;
    return this.#noted(
      record,
      async ({ name, baseUrl, auth }, ending) => {
        const at = now();
        const id = newId('whd');
        const body = JSON.stringify({ type: 'message', timestamp: at.toISOString(), data });
        const signed = { url: baseUrl, secrets: [auth.secret], version, at };
        const attempt = await postSigned({ id, body }, signed, {
          fetch: this.#guarded.fetch,
          signal: ending,
          answerMs,
        });
        if (attempt.ok) return id;
        const { status, error, afterMs } = attempt;
        if (status === undefined) throw inDoubt(name, error);
        throw refused(name, status, { words: '', afterMs });
      },
      signal,
    );
  }

  close(): void {
    this.#guarded.close();
  }

  async #noted<Result>(
    record: ConnectionRecord,
    work: (connection: OpenConnection, signal: AbortSignal) => Promise<Result>,
    given: AbortSignal | undefined,
  ): Promise<Result> {
    if (!record.enabled)
      throw new ToolError(
        'conflict',
        `The connection ${record.name} is switched off; switch it on with update_connection.`,
      );
    await this.#take(record);
    const connection = openConnection(record, this.box);
    const late = AbortSignal.timeout(this.#options.answerMs ?? ANSWER_MS);
    try {
      const result = await work(connection, given ? AbortSignal.any([given, late]) : late);
      await this.#note(record);
      return result;
    } catch (thrown) {
      const error = thrown instanceof ToolError ? thrown : this.#failure(connection, thrown, late.aborted);
      await this.#note(record, error.message);
      throw error;
    }
  }

  async #take({ id, rate }: ConnectionRecord): Promise<void> {
    if (!rate) return;
    const { perMinute } = rate;
    const { cluster } = this.#options.store;
    const limit =
      this.#limits.get(perMinute) ??
      createRateLimit(perMinute, 'requests of this connection', { cluster, name: 'connection requests' });
    this.#limits.set(perMinute, limit);
    await limit(id);
  }

  async #identity(
    { name, auth, secrets }: OpenConnection,
    signal: AbortSignal,
    refusedToken?: string,
  ): Promise<Identity> {
    switch (auth.type) {
      case 'none':
      case 'signature':
        return { headers: {}, secrets };
      case 'bearer':
        return { headers: { authorization: `Bearer ${auth.secret}` }, secrets };
      case 'basic': {
        const pair = Buffer.from(`${auth.user}:${auth.secret}`, 'latin1').toString('base64');
        return { headers: { authorization: `Basic ${pair}` }, secrets: [...secrets, pair] };
      }
      case 'header':
        return { headers: { [auth.header ?? '']: auth.secret }, secrets };
      default: {
        const token = await this.#tokens.get(name, auth, signal, refusedToken);
        return { headers: { authorization: `Bearer ${token}` }, secrets: [...secrets, token], token };
      }
    }
  }

  async #exchange(
    { name }: OpenConnection,
    { url, method, headers, body }: PlannedRequest,
    identity: Identity,
    signal: AbortSignal,
  ): Promise<HttpExchange> {
    const sent = { 'user-agent': `agent-admin/${this.#options.version}`, ...headers, ...identity.headers };
    const response = await this.#guarded.fetch(url, {
      method,
      headers: sent,
      signal,
      ...(body !== undefined && { body }),
    });
    const scrubber = new Scrubber(identity.secrets);
    const read = Buffer.from(await response.arrayBuffer());
    const { status } = response;
    const answer = {
      status,
      headers: shownHeaders(response.headers, scrubber),
      body: read.subarray(0, MOST_KEPT),
      truncated: read.length > MOST_KEPT,
      scrubber,
    };
    if (status === 429 || status === 503) {
      const afterMs = retryAfterMs(response.headers.get('retry-after'), this.#options.now());
      throw refused(name, status, { words: quote(answer), afterMs });
    }
    return answer;
  }

  #failure({ name, secrets }: OpenConnection, cause: unknown, isLate: boolean): ToolError {
    if (cause instanceof AddressRefused) return new ToolError('unavailable', cause.message, { notMade: true });
    const { answerMs = ANSWER_MS } = this.#options;
    if (isLate) return inDoubt(name, `It gave no answer within ${answerMs / 1000} s.`);
    const { code, message } = cause as NodeJS.ErrnoException; // of node:http
    const words = new Scrubber(secrets).shown(code ?? message);
    if (code !== undefined && NOT_SENT.has(code)) {
      return new ToolError('unavailable', `The connection ${name} could not be reached: ${words}.`, { notMade: true });
    }
    return inDoubt(name, `It broke off: ${words}.`);
  }

  /** Keeps that it works or does not, and nothing where that is known. */
  async #note({ id, lastUsedAt, lastFailure }: ConnectionRecord, message?: string): Promise<void> {
    const { store, now, onFailure } = this.#options;
    const at = now().toISOString();
    const isKnown = Math.abs(Date.parse(at) - Date.parse(lastUsedAt ?? '')) < USED_MS;
    if (isKnown && lastFailure?.message === message) return;
    const failure = message === undefined ? null : { at, message: message.slice(0, 500) };
    const noted = store.transaction(async (tx) => {
      if (await tx.connections.get(id)) await tx.connections.touch(id, { lastUsedAt: at, lastFailure: failure });
    });
    await noted.catch(onFailure); // what was sent is sent
  }
}
