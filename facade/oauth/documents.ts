import { AsyncLocalStorage } from 'node:async_hooks';
import { DAY_MS } from '../../resources/durations.ts';
import type { OAuthClientRecord } from '../../resources/oauth-client.ts';
import type { Store } from '../../store/port.ts';
import { hashSecret } from '../../tools/core/access/key-secret.ts';
import { createRateLimit, type RateLimit } from '../../tools/core/access/rate-limit.ts';
import type { Fetch } from '../../tools/core/outbound/fetch.ts';
import { networkOf } from '../../tools/sign-in/attempts.ts';
import { OAuthError } from './answers.ts';
import { type ClientMetadata, readClientMetadata } from './client-metadata.ts';
import { makeRoom } from './unused-clients.ts';

export const LARGEST_DOCUMENT = 10 * 1024;
const LONGEST_ADDRESS = 500;
export const DEADLINE_MS = 5000;
export const SHORTEST_KEPT_MS = 5 * 60 * 1000;
export const LONGEST_KEPT_MS = DAY_MS;
/** How long a host that failed is not asked again. */
const FAILED_KEPT_MS = 60 * 1000;
const MOST_REMEMBERED = 1000;
/** Each look-up makes the server send a request. */
export const FETCHES_FOR_ONE_ADDRESS = 10;
/** Only a flood from many networks comes so far. Clients that are known continue. */
export const FETCHES_PER_MINUTE = 1200;

/** The address of the request for which clients are looked up. The library does not pass it on. */
export const forAddress = new AsyncLocalStorage<string>();

interface Options {
  readonly store: Store;
  readonly fetch: Fetch;
  now(): Date;
  /** For all of an answer, its body too. */
  readonly deadlineMs?: number;
}

/** Clients whose id is the address of their metadata document. What was read is kept in the store and serves while the host is away. */
export class ClientDocuments {
  readonly #options: Options;
  readonly #limit: RateLimit;
  readonly #limitForAddress: RateLimit;
  /** Until when what is known of an address is not asked for again: the document, or that it could not be had. */
  readonly #known = new Map<string, { readonly until: number; readonly problem?: OAuthError }>();
  readonly #underWay = new Map<string, Promise<OAuthClientRecord>>();

  constructor(options: Options) {
    this.#options = options;
    const { cluster } = options.store;
    this.#limit = createRateLimit(FETCHES_PER_MINUTE, 'client documents', { cluster });
    this.#limitForAddress = createRateLimit(FETCHES_FOR_ONE_ADDRESS, 'client documents for one address', { cluster });
  }

  /** `kept`: the document read earlier. Undefined if the id is not a document address. @throws OAuthError (invalid_client) */
  async find(clientId: string, kept: OAuthClientRecord | undefined): Promise<OAuthClientRecord | undefined> {
    if (!isDocumentAddress(clientId)) return undefined;
    const known = this.#known.get(clientId);
    if (known && known.until > this.#options.now().getTime()) {
      if (known.problem && !(kept && canServe(known.problem))) throw known.problem;
      if (kept) return kept;
    }
    const asked = this.#underWay.get(clientId) ?? this.#read(clientId);
    this.#underWay.set(clientId, asked);
    try {
      return await asked;
    } catch (problem) {
      if (kept && canServe(problem)) return kept;
      throw problem;
    } finally {
      this.#underWay.delete(clientId);
    }
  }

  async #read(clientId: string): Promise<OAuthClientRecord> {
    await this.#count().catch(() => {
      throw new OAuthError('temporarily_unavailable', TOO_MANY, 503);
    });
    try {
      const { metadata, keptMs } = await this.#ask(clientId);
      const client = await this.#keep(clientId, metadata);
      this.#remember(clientId, { until: this.#options.now().getTime() + keptMs });
      return client;
    } catch (problem) {
      if (problem instanceof OAuthError) {
        this.#remember(clientId, { until: this.#options.now().getTime() + FAILED_KEPT_MS, problem });
      }
      throw problem;
    }
  }

  async #count(): Promise<void> {
    const address = forAddress.getStore();
    if (address !== undefined) await this.#limitForAddress(networkOf(address));
    await this.#limit('all');
  }

  async #ask(clientId: string): Promise<{ readonly metadata: ClientMetadata; readonly keptMs: number }> {
    let response: Response;
    let text: string;
    try {
      const { fetch, deadlineMs = DEADLINE_MS } = this.#options;
      const signal = AbortSignal.timeout(deadlineMs);
      response = await fetch(clientId, { headers: { Accept: 'application/json' }, signal });
      text = response.status === 200 ? await response.text() : '';
      void response.body?.cancel().catch(() => {});
    } catch {
      throw new OAuthError('invalid_client', 'The client_id could not be read: its host does not answer as it should.');
    }
    if (response.status >= 500) {
      throw new OAuthError('invalid_client', `The client_id could not be read: its host answered ${response.status}.`);
    }
    if (response.status !== 200) throw new DocumentRefused(`it was answered with ${response.status}, not with 200`);
    return { metadata: readDocument(clientId, text), keptMs: keptFor(response.headers) };
  }

  async #keep(clientId: string, metadata: ClientMetadata): Promise<OAuthClientRecord> {
    await makeRoom(this.#options.store, 'metadata');
    const member = {
      name: metadata.client_name ?? '',
      redirectUris: [...metadata.redirect_uris],
      metadata: { ...metadata },
    };
    return this.#options.store.transaction(async (tx) => {
      const known = await tx.oauthClients.first({ where: { clientId } });
      if (known) return tx.oauthClients.update(known.id, member);
      const address = forAddress.getStore();
      const networkHash = address === undefined ? undefined : hashSecret(networkOf(address));
      return tx.oauthClients.insert({ clientId, kind: 'metadata', ...member, ...(networkHash && { networkHash }) });
    });
  }

  #remember(clientId: string, what: { readonly until: number; readonly problem?: OAuthError }): void {
    if (this.#known.size >= MOST_REMEMBERED) this.#known.clear();
    this.#known.set(clientId, what);
  }
}

const TOO_MANY = 'Too many clients are looked up now; try again in a minute.';

class DocumentRefused extends OAuthError {
  constructor(why: string) {
    super('invalid_client', `The document at the client_id is refused: ${why}.`, 401);
  }
}

/** Whether what was kept serves in spite of the problem: where the host is away, not where it took the document back. */
function canServe(problem: unknown): boolean {
  return !(problem instanceof DocumentRefused);
}

/** Whether a client_id is the address of a document: https, with a path, and written as it is sent. */
export function isDocumentAddress(clientId: string): boolean {
  if (!clientId.startsWith('https://') || clientId.length > LONGEST_ADDRESS || !URL.canParse(clientId)) return false;
  const { href, pathname, username, password } = new URL(clientId);
  return href === clientId && pathname !== '/' && username === '' && password === '' && !clientId.includes('#');
}

function readDocument(clientId: string, text: string): ClientMetadata {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    throw new DocumentRefused('it is not JSON');
  }
  const { client_id, client_secret } = Object(document) as { client_id?: unknown; client_secret?: unknown }; // not checked yet
  if (client_id !== clientId) throw new DocumentRefused('its client_id is not its own address');
  if (client_secret !== undefined) throw new DocumentRefused('it publishes a secret');
  try {
    const metadata = readClientMetadata(document);
    if (!/^(none|private_key_jwt)$/.test(metadata.token_endpoint_auth_method)) {
      throw new DocumentRefused('what is public cannot hold a secret; use none or private_key_jwt');
    }
    return metadata;
  } catch (problem) {
    throw problem instanceof OAuthError && !(problem instanceof DocumentRefused)
      ? new DocumentRefused(problem.error_description)
      : problem;
  }
}

function keptFor(headers: Headers): number {
  const seconds = /(?:^|,)\s*max-age\s*=\s*(\d+)/i.exec(headers.get('cache-control') ?? '')?.[1];
  return Math.min(LONGEST_KEPT_MS, Math.max(SHORTEST_KEPT_MS, Number(seconds ?? 0) * 1000));
}
