import type { IncomingMessage } from 'node:http';
import type { Provider } from 'oidc-provider';
import type { OAuthStateRecord } from '../../resources/oauth-state.ts';
import type { Cluster } from '../../store/cluster-port.ts';
import type { Store } from '../../store/port.ts';
import { createRateLimit, type RateLimit } from '../../tools/core/access/rate-limit.ts';
import { networkOf } from '../../tools/sign-in/attempts.ts';
import { readForm } from '../http/body.ts';
import type { RequestContext } from '../http/request-context.ts';
import { sendJson } from '../http/respond.ts';
import { type Addresses, paths, type Resource } from './addresses.ts';
import { OAuthError } from './answers.ts';
import type { ClientProperties, Clients } from './clients.ts';
import { forAddress } from './documents.ts';
import { CAPSULE_SCOPE, leastScope, SCOPES } from './metadata.ts';
import { createRegistration } from './registration.ts';
import { type Changes, rewriteRequest } from './rewrite-request.ts';
import { findState } from './states.ts';
import { createTtlCache, type TtlCache } from './ttl-cache.ts';

/** Each makes a record, and anybody may. */
export const AUTHORIZATIONS_PER_MINUTE = 60;

interface RequestOptions {
  readonly store: Store;
  readonly addresses: Addresses;
  readonly clients: Clients;
  readonly stepUps: StepUps;
  provider(): Promise<Provider>;
}

/** The requests of the protocol: what the library does not do, or not as hosts need it, comes before the library. */
export class Requests {
  readonly #options: RequestOptions;
  readonly #register: (request: IncomingMessage) => Promise<Record<string, unknown>>;
  readonly #limit: RateLimit;

  constructor(options: RequestOptions) {
    this.#options = options;
    const { cluster } = options.store;
    this.#limit = createRateLimit(AUTHORIZATIONS_PER_MINUTE, 'requests to connect from one address', { cluster });
    this.#register = createRegistration({
      clients: options.clients,
      cluster,
      validate: (properties) => this.#validate(properties),
    });
  }

  async register({ request, response }: RequestContext): Promise<void> {
    sendJson(response, 201, await this.#register(request));
  }

  async authorize(context: RequestContext): Promise<void> {
    await this.#limit(networkOf(context.address));
    const [, search = ''] = /^[^?]*\?(.*)$/s.exec(context.request.url ?? '') ?? [];
    const query = authorizationQuery(search, this.#options.addresses);
    await this.#pass(context, { target: `${paths.authorize}?${query}` });
  }

  async resume(context: RequestContext): Promise<void> {
    await this.#pass(context, {});
  }

  async token(context: RequestContext): Promise<void> {
    const { addresses, store } = this.#options;
    const form = tokenForm(await readForm(context.request), addresses);
    const [kind, shown] =
      form.get('grant_type') === 'refresh_token'
        ? ['RefreshToken', form.get('refresh_token')]
        : ['AuthorizationCode', form.get('code')];
    const state = shown === null ? undefined : await findState(store, kind, shown);
    requireResource(form, state);
    if (kind === 'RefreshToken' && state?.grantId !== undefined && (await this.#options.stepUps.take(state.grantId))) {
      throw new OAuthError('invalid_grant', 'The app needs more than it was given; ask the person again.');
    }
    await this.#pass(context, { target: paths.token, form });
  }

  async revoke(context: RequestContext): Promise<void> {
    const form = new URLSearchParams([...(await readForm(context.request))]);
    await this.#pass(context, { target: paths.revoke, form });
  }

  async #pass({ request, response, address }: RequestContext, changes: Changes): Promise<void> {
    const provider = await this.#options.provider();
    response.setHeader('Referrer-Policy', 'no-referrer');
    response.setHeader('X-Content-Type-Options', 'nosniff');
    response.setHeader('X-Frame-Options', 'DENY');
    const answer = provider.callback();
    const restatedRequest = rewriteRequest(request, this.#options.addresses, changes);
    await forAddress.run(address, () => answer(restatedRequest, response));
  }

  async #validate(properties: ClientProperties): Promise<void> {
    const { Client } = await this.#options.provider();
    const client: object = Client; // the types leave out the member
    if (!('validate' in client) || typeof client.validate !== 'function')
      throw new Error('oidc-provider validates no client.');
    await client.validate(properties);
  }
}

/** Members of OpenID Connect, which clients send to any server; the library refuses them where no `openid` is asked for. */
const FOREIGN = [
  'nonce',
  'max_age',
  'id_token_hint',
  'acr_values',
  'claims',
  'claims_locales',
  'display',
  'ui_locales',
];
/** Scopes that clients ask of any server. Refresh tokens come without one. */
const FOREIGN_SCOPES = new Set(['openid', 'profile', 'email', 'offline_access']);

/** A request to be let in, as the library takes it: the endpoint by its one name, and scopes that there are at it. */
function authorizationQuery(search: string, addresses: Addresses): string {
  const query = new URLSearchParams(search);
  for (const name of FOREIGN) query.delete(name);
  const [mode = 'query'] = query.getAll('response_mode');
  if (mode !== 'query') throw new OAuthError('invalid_request', 'Answers come in the query; leave response_mode out.');
  // The person is asked in any case; `none` is the one prompt that changes the answer.
  if (query.get('prompt') !== 'none') query.delete('prompt');
  const resources = [...new Set(query.getAll('resource').map((text) => canonical(text, addresses)))];
  query.delete('resource');
  for (const resource of resources.length === 0 ? [addresses.unified.url] : resources) {
    query.append('resource', resource);
  }
  if (query.getAll('scope').length <= 1) {
    const resource = addresses.resourceNamed(query.get('resource') ?? '') ?? addresses.unified;
    query.set('scope', scopeFor(query.get('scope') ?? '', resource));
  }
  return query.toString();
}

/** The form of a request to the token endpoint, likewise. */
function tokenForm(given: ReadonlyMap<string, string>, addresses: Addresses): URLSearchParams {
  const form = new URLSearchParams([...given]);
  const [resource, scope] = [given.get('resource'), given.get('scope')];
  if (resource !== undefined) form.set('resource', canonical(resource, addresses));
  if (scope !== undefined) {
    const left = words(scope).filter((word) => !FOREIGN_SCOPES.has(word));
    if (left.length === 0) form.delete('scope');
    else form.set('scope', left.join(' '));
  }
  return form;
}

/** The library sees a wrong resource only after it has used the code or token up. @throws OAuthError (invalid_target) */
function requireResource(form: URLSearchParams, state: OAuthStateRecord | undefined): void {
  const resource = form.get('resource');
  if (resource === null || !state) return;
  const granted = [state.payload.resource].flat();
  if (!granted.includes(resource)) {
    throw new OAuthError('invalid_target', 'The person agreed to another resource; leave it out, or ask again.');
  }
}

/** The known scopes among those asked for, or what everybody gets who asks for none. */
function scopeFor(asked: string, resource: Resource): string {
  if (resource.capsuleId !== undefined) return CAPSULE_SCOPE;
  const known: readonly string[] = SCOPES;
  const wanted = words(asked).filter((word) => known.includes(word));
  return wanted.length === 0 ? leastScope(resource) : [...new Set(wanted)].join(' ');
}

function canonical(text: string, addresses: Addresses): string {
  return addresses.resourceNamed(text)?.url ?? text;
}

function words(text: string): string[] {
  return text.split(' ').filter(Boolean);
}

/** How long after a refusal a refresh counts as its consequence. */
const ANSWERED_WITHIN_MS = 5000;

/**
 * Apps whose call was just refused because it needs more than they were given. Some clients answer that with a refresh, which cannot give more, and
 * then give up; where the refresh is refused once, they ask the person again. The refused token stays good for clients that ask by themselves.
 */
export class StepUps {
  readonly #noted: TtlCache<object>;

  constructor(cluster: Cluster | undefined, now: () => Date) {
    this.#noted = createTtlCache('step-up', { cluster, periodMs: ANSWERED_WITHIN_MS, now });
  }

  note(appId: string): Promise<void> {
    return this.#noted.put(appId, {});
  }

  /** Whether the app's refresh is to be refused: once after each refusal of a call. */
  async take(appId: string): Promise<boolean> {
    return (await this.#noted.take(appId)) !== undefined;
  }
}
