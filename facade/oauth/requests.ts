import type { IncomingMessage } from 'node:http';
import type { Provider } from 'oidc-provider';
import type { Store } from '../../store/port.ts';
import { createRateLimit, type RateLimit } from '../../tools/core/access/rate-limit.ts';
import { networkOf } from '../../tools/sign-in/attempts.ts';
import { readForm } from '../http/body.ts';
import type { RequestContext } from '../http/request-context.ts';
import { sendJson } from '../http/respond.ts';
import { type Addresses, paths } from './addresses.ts';
import type { ClientProperties, Clients } from './clients.ts';
import { forAddress } from './documents.ts';
import { OAuthError } from './oauth-error.ts';
import { authorizationQuery, requireResource, tokenForm } from './parameters.ts';
import { createRegistration } from './registration.ts';
import { type Changes, rewriteRequest } from './rewrite-request.ts';
import { findState } from './states.ts';
import type { StepUps } from './step-ups.ts';

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
