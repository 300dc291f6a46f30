import { type AuthProvider, InsufficientScopeError, SdkError, SdkErrorCode } from '@modelcontextprotocol/client';
import type { Fetch } from '../../core/outbound/fetch.ts';
import { AccountRequired, type AccountTokens } from './account-tokens.ts';

/** Gives a connection the tokens of one account, and new ones when the server refuses those. */
export class AccountAuth implements AuthProvider {
  readonly #tokens: Pick<AccountTokens, 'token' | 'renewed'>;
  readonly #key: string;
  /** The token that each refused answer was given to, because several requests continue at a time. */
  readonly #refused = new WeakMap<Response, string>();
  readonly #seen = new Set<string>();

  constructor(tokens: Pick<AccountTokens, 'token' | 'renewed'>, key: string) {
    this.#tokens = tokens;
    this.#key = key;
  }

  /** The tokens that the server was sent, which it may repeat in its answers. */
  get seen(): readonly string[] {
    return [...this.#seen];
  }

  async token(): Promise<string> {
    const token = await this.#tokens.token(this.#key);
    this.#seen.add(token);
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
