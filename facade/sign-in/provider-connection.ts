import { KeyObject } from 'node:crypto';
import { type CryptoKey, createRemoteJWKSet, errors, type JWTVerifyGetKey } from 'jose';
import * as oidc from 'openid-client';
import type { Logger } from 'pino';
import { ToolError } from '../../tools/core/errors.ts';
import type { Dependency } from '../../tools/core/registry/context.ts';
import { ProbedDependency } from '../../tools/core/registry/dependency-health.ts';
import { CLOCK_SKEW_SECONDS, type TokenHeader } from '../../tools/sign-in/id-token.ts';
import { isLoopback, type OidcSettings } from '../config/sign-in-config.ts';

export interface ProviderConnectionOptions extends OidcSettings {
  readonly logger: Logger;
}

const TIMEOUT_SECONDS = 10;
/** After this time the provider's metadata is read again. If it does not answer, the old metadata stays in use. */
const METADATA_MS = 60 * 60 * 1000;
const RETRY_MS = 60 * 1000;

interface Opened {
  readonly config: oidc.Configuration;
  readonly issuer: string;
  readonly keysUri: string;
  readonly keys: JWTVerifyGetKey;
  readonly at: number;
}

/** The connection to the provider. It is made when it is needed, and again after it was lost. */
export class ProviderConnection implements Dependency {
  readonly #options: ProviderConnectionOptions;
  readonly #server: ProbedDependency;
  #opened: Opened | undefined;
  #opening: Promise<Opened> | undefined;

  constructor(options: ProviderConnectionOptions) {
    this.#options = options;
    this.#server = new ProbedDependency({
      name: 'sign-in provider',
      kind: 'oidc',
      probe: () => this.#discover(),
      onFailure: (err) => options.logger.error({ err }, 'the sign-in provider does not work'),
    });
    void this.#server.check();
  }

  health(): ReturnType<Dependency['health']> {
    return this.#server.health();
  }

  /** @throws ToolError (unavailable) */
  async open(): Promise<Opened> {
    if (this.#opened && Date.now() - this.#opened.at < METADATA_MS) return this.#opened;
    this.#opening ??= this.#server
      .use(() => this.#discover())
      .finally(() => {
        this.#opening = undefined;
      });
    try {
      return await this.#opening;
    } catch (cause) {
      if (!this.#opened) throw away(cause);
      this.#opened = { ...this.#opened, at: Date.now() - METADATA_MS + RETRY_MS };
      return this.#opened;
    }
  }

  async #discover(): Promise<Opened> {
    const config = await discoverConfig(this.#options);
    const { issuer, jwks_uri: keysUri = '', authorization_endpoint: door = '' } = config.serverMetadata();
    for (const url of [keysUri, door]) requireSafe(url, this.#options.issuer);
    const keys = this.#opened?.keysUri === keysUri ? this.#opened.keys : keySet(keysUri);
    this.#opened = { config, issuer, keysUri, keys, at: Date.now() };
    return this.#opened;
  }
}

function discoverConfig({ issuer, clientId, clientSecret }: ProviderConnectionOptions): Promise<oidc.Configuration> {
  const execute = isLoopback(issuer) ? [oidc.allowInsecureRequests] : [];
  const metadata = { [oidc.clockTolerance]: CLOCK_SKEW_SECONDS };
  const authentication = clientSecret === undefined ? oidc.None() : secretAuthentication(clientSecret);
  return oidc.discovery(new URL(issuer), clientId, metadata, authentication, { timeout: TIMEOUT_SECONDS, execute });
}

/** How to authenticate with the provider, by its metadata. The default is `client_secret_basic`. */
function secretAuthentication(secret: string): oidc.ClientAuth {
  const [post, basic] = [oidc.ClientSecretPost(secret), oidc.ClientSecretBasic(secret)];
  return (provider, ...rest) => {
    const known = provider.token_endpoint_auth_methods_supported ?? [];
    const way = known.includes('client_secret_post') && !known.includes('client_secret_basic') ? post : basic;
    way(provider, ...rest);
  };
}

/** An address that the provider names must be as safe as the provider's own. */
function requireSafe(url: string, issuer: string): void {
  if (url.startsWith('https:') || (isLoopback(issuer) && isLoopback(url))) return;
  throw new Error(
    `The provider names an address that is not https: ${URL.canParse(url) ? new URL(url).origin : '(none)'}`,
  );
}

/** Read again at once for an unknown key; only tokens that the provider has just sent are checked, so this cannot be abused. */
function keySet(uri: string): JWTVerifyGetKey {
  return createRemoteJWKSet(new URL(uri), { cooldownDuration: 0 });
}

/** The public key for a token. Undefined if the provider has none for it. @throws ToolError (unavailable) */
export async function findSigningKey(keys: JWTVerifyGetKey, header: TokenHeader): Promise<KeyObject | undefined> {
  try {
    const { alg, kid } = header;
    // With only a header, a key set returns a public key of Web Crypto.
    return KeyObject.from((await keys({ alg, ...(kid !== undefined && { kid }) }, NO_TOKEN)) as CryptoKey);
  } catch (cause) {
    const { JWKSNoMatchingKey, JWKSMultipleMatchingKeys, JOSENotSupported } = errors;
    const none = [JWKSNoMatchingKey, JWKSMultipleMatchingKeys, JOSENotSupported].some((type) => cause instanceof type);
    if (none) return undefined;
    throw away(cause);
  }
}

const NO_TOKEN = { payload: '', signature: '' };

/** The error for a provider that sends no usable answer. */
export function away(cause: unknown): ToolError {
  if (cause instanceof ToolError) return cause;
  return new ToolError('unavailable', 'The sign-in provider does not answer; try again soon.', {}, cause);
}
