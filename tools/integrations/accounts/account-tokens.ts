import {
  type AuthProvider,
  InsufficientScopeError,
  OAuthError,
  OAuthErrorCode,
  refreshAuthorization,
  SdkError,
  SdkErrorCode,
} from '@modelcontextprotocol/client';
import type { IntegrationAccountRecord } from '../../../resources/integration-account.ts';
import type { Store } from '../../../store/port.ts';
import { ToolError } from '../../core/errors.ts';
import type { Fetch } from '../../core/outbound/fetch.ts';
import type { SecretBox } from '../../core/sealing/secrets.ts';
import { type AccountSecrets, openAccount, sealAccount } from './account-secrets.ts';
import { endOf } from './authorize-account.ts';
import { withOAuthFetch } from './revocation.ts';

interface TokenDeps {
  readonly store: Store;
  readonly secrets: SecretBox;
  readonly privateAddresses: boolean;
  now(): Date;
}

/** A token that ends within this time is renewed before it is used. */
const EARLY_MS = 30_000;
const USE_MS = 60_000;

/** The tokens of all accounts. Those of an account are renewed one at a time, whichever process does it. */
export class AccountTokens {
  readonly #deps: TokenDeps;
  readonly #renewing = new Map<string, Promise<string>>();
  readonly #used = new Map<string, number>();
  /** What providers were sent to renew tokens, by the account. A server may be told it by its provider, and repeat it. */
  readonly #sent = new Map<string, readonly string[]>();

  constructor(deps: TokenDeps) {
    this.#deps = deps;
  }

  async account(key: string): Promise<IntegrationAccountRecord> {
    const account = await this.#deps.store.integrationAccounts.first({ where: { key } });
    if (account?.status !== 'connected') throw new AccountRequired();
    return account;
  }

  /** The access token of the account, renewed where it ends soon. @throws AccountRequired */
  async token(key: string): Promise<string> {
    const { tokens, until } = this.#opened(await this.account(key));
    const now = this.#deps.now().getTime();
    const ends = until === undefined ? Number.POSITIVE_INFINITY : Date.parse(until);
    if (ends - now > EARLY_MS) return tokens.access_token;
    if (tokens.refresh_token === undefined && ends > now) return tokens.access_token;
    return this.renewed(key, tokens.access_token);
  }

  /** The token that follows the one that was refused or ends soon. @throws AccountRequired if there is none */
  async renewed(key: string, refused: string): Promise<string> {
    const running = this.#renewing.get(key);
    if (running) return running;
    const renewal = this.#renewAlone(key, refused).finally(() => this.#renewing.delete(key));
    this.#renewing.set(key, renewal);
    return renewal;
  }

  async noteUse(key: string): Promise<void> {
    const now = this.#deps.now();
    if (now.getTime() - (this.#used.get(key) ?? 0) < USE_MS) return;
    this.#used.set(key, now.getTime());
    await this.#deps.store.transaction(async ({ integrationAccounts }) => {
      const account = await integrationAccounts.first({ where: { key } });
      if (account) await integrationAccounts.touch(account.id, { lastUsedAt: now.toISOString() });
    });
  }

  forget(key: string): void {
    this.#used.delete(key);
    this.#sent.delete(key);
  }

  sentToProvider(key: string): readonly string[] {
    return this.#sent.get(key) ?? [];
  }

  #opened(account: IntegrationAccountRecord): AccountSecrets {
    const secrets = openAccount(this.#deps.secrets, account);
    const sent = [secrets.tokens.refresh_token, secrets.client.information.client_secret];
    this.#sent.set(
      account.key,
      sent.filter((secret) => secret !== undefined),
    );
    return secrets;
  }

  /** A refresh token works once at most providers, so one process uses it, and the others read what came of it. */
  #renewAlone(key: string, refused: string): Promise<string> {
    const { cluster } = this.#deps.store;
    const renew = () => this.#renew(key, refused);
    return cluster ? cluster.inTurn(`account ${key}`, renew) : renew();
  }

  async #renew(key: string, refused: string): Promise<string> {
    const account = await this.account(key);
    const secrets = this.#opened(account);
    if (secrets.tokens.access_token !== refused) return secrets.tokens.access_token;
    const tokens = await this.#asked(secrets).catch(async (error: unknown) => {
      if (!isFinal(error)) throw new ToolError('unavailable', NOT_RENEWED, { notMade: true }, error);
      await this.#change(account, { status: 'connect_again' });
      throw new AccountRequired();
    });
    const until = endOf(tokens.expires_in, this.#deps.now());
    const scopes = tokens.scope === undefined ? {} : { scopes: tokens.scope.split(' ').filter(Boolean) };
    const sealed = sealAccount(this.#deps.secrets, key, { ...secrets, tokens, until });
    const isKept = await this.#change(account, { sealed, ...scopes });
    return isKept ? tokens.access_token : this.token(key);
  }

  async #asked({ client, tokens, discovery }: AccountSecrets) {
    const { refresh_token: refreshToken } = tokens;
    if (refreshToken === undefined) throw new AccountRequired();
    const { authorizationServerUrl, authorizationServerMetadata: metadata, resourceMetadata } = discovery;
    const fresh = await withOAuthFetch(this.#deps.privateAddresses, (fetchFn) =>
      refreshAuthorization(authorizationServerUrl, {
        ...(metadata && { metadata }),
        clientInformation: client.information,
        refreshToken,
        ...(resourceMetadata && { resource: resourceMetadata.resource }),
        fetchFn,
      }),
    );
    return { ...fresh, ...(tokens.issuer !== undefined && { issuer: tokens.issuer }) };
  }

  /** No effect on an account that was ended or reconnected in the meantime. */
  #change(
    { id, sealed }: IntegrationAccountRecord,
    change: Partial<Pick<IntegrationAccountRecord, 'status' | 'sealed' | 'scopes'>>,
  ): Promise<boolean> {
    return this.#deps.store.transaction(async ({ integrationAccounts }) => {
      const current = await integrationAccounts.get(id);
      if (current?.sealed !== sealed) return false;
      await integrationAccounts.update(id, change);
      return true;
    });
  }
}

const NOT_RENEWED = 'The provider of the account could not be asked for a new token; try again in a moment.';

function isFinal(error: unknown): boolean {
  if (error instanceof AccountRequired) return true;
  return error instanceof OAuthError && FINAL.has(error.code);
}

const FINAL: ReadonlySet<string> = new Set([
  OAuthErrorCode.InvalidGrant,
  OAuthErrorCode.InvalidClient,
  OAuthErrorCode.UnauthorizedClient,
]);

export class AccountRequired extends Error {
  /** Scopes that the server asks for, besides those of the account. */
  readonly scopes: readonly string[];

  constructor(scopes: readonly string[] = []) {
    super('It wants an account; connect_integration gives a link to connect one.');
    this.scopes = scopes;
  }
}

type Tokens = Pick<AccountTokens, 'token' | 'renewed' | 'sentToProvider'>;

/** Gives a connection the tokens of one account, and new ones when the server refuses those. */
export class AccountAuth implements AuthProvider {
  readonly #tokens: Tokens;
  readonly #key: string;
  /** The token that each refused answer was given to, because several requests continue at a time. */
  readonly #refused = new WeakMap<Response, string>();
  readonly #seen = new Set<string>();

  constructor(tokens: Tokens, key: string) {
    this.#tokens = tokens;
    this.#key = key;
  }

  /** The secrets that the server or its provider were sent, which the server may repeat in its answers. */
  get seen(): readonly string[] {
    return [...this.#seen];
  }

  async token(): Promise<string> {
    const token = await this.#tokens.token(this.#key);
    for (const secret of [token, ...this.#tokens.sentToProvider(this.#key)]) this.#seen.add(secret);
    return token;
  }

  async onUnauthorized({ response }: { readonly response: Response }): Promise<void> {
    await this.#tokens.renewed(this.#key, this.#refused.get(response) ?? '');
  }

  /** A `fetch` that notes which token was refused. */
  watch(fetch: Fetch): Fetch {
    return async (url, init) => {
      const response = await fetch(url, init);
      const sent = new Headers(init?.headers).get('Authorization') ?? '';
      if (response.status === 401) this.#refused.set(response, sent.replace(/^Bearer /, ''));
      return response;
    };
  }
}

/** Converts the error of a server or provider into AccountWanted, if an account would help. */
export function accountRequiredBy(error: unknown): AccountRequired | undefined {
  if (error instanceof AccountRequired) return error;
  if (error instanceof InsufficientScopeError)
    return new AccountRequired(error.requiredScope?.split(' ').filter(Boolean));
  const isRefused = error instanceof SdkError && error.code === SdkErrorCode.ClientHttpAuthentication;
  return isRefused ? new AccountRequired() : undefined;
}
