import { hash } from 'node:crypto';
import { z } from 'zod';
import { parseJson } from '../../resources/json.ts';
import { ToolError } from '../core/errors.ts';
import type { Fetch } from '../core/outbound/fetch.ts';
import type { OpenConnection } from './connection-secrets.ts';

type ClientCredentials = OpenConnection['auth'];

interface Token {
  readonly text: string;
  readonly until: number;
}

const answer = z.object({
  access_token: z
    .string()
    .min(1)
    .max(8000)
    .regex(/^[\x21-\x7e]+$/),
  expires_in: z.coerce.number().optional(),
});

const DEFAULT_S = 300;
/** A token is renewed so long before it ends. */
const BEFORE_S = 30;
const MOST_TOKENS = 1000;

/** Tokens of connections, in the memory of this process alone. */
export class ClientCredentialTokens {
  readonly #fetch: Fetch;
  readonly #now: () => Date;
  readonly #tokens = new Map<string, Promise<Token>>();

  constructor(fetch: Fetch, now: () => Date) {
    this.#fetch = fetch;
    this.#now = now;
  }

  /** `refused`: a token that the other server did not take, so another is fetched. @throws ToolError (unavailable) */
  async get(name: string, auth: ClientCredentials, signal: AbortSignal, refused?: string): Promise<string> {
    const key = hash('sha256', JSON.stringify(auth), 'base64url');
    const known = await this.#tokens.get(key)?.catch(() => undefined);
    if (known && known.text !== refused && known.until > this.#now().getTime()) return known.text;
    if (this.#tokens.size >= MOST_TOKENS) this.#tokens.clear();
    // Another caller may have begun in the meantime.
    const current = this.#tokens.get(key);
    const isNewer = current !== undefined && (await current.catch(() => undefined)) !== known;
    const next = isNewer ? current : this.#ask(name, auth, signal);
    this.#tokens.set(key, next);
    return (await next).text;
  }

  async #ask(
    name: string,
    { tokenUrl = '', user = '', secret, scopes }: ClientCredentials,
    signal: AbortSignal,
  ): Promise<Token> {
    const encode = (text: string) => new URLSearchParams({ '': text }).toString().slice(1);
    const body = new URLSearchParams({
      grant_type: 'client_credentials',
      ...(scopes?.length && { scope: scopes.join(' ') }),
    });
    const response = await this.#fetch(tokenUrl, {
      method: 'POST',
      headers: {
        accept: 'application/json',
        authorization: `Basic ${Buffer.from(`${encode(user)}:${encode(secret)}`).toString('base64')}`,
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: body.toString(),
      signal,
    });
    const text = await response.text();
    const read = response.status === 200 ? answer.safeParse(parseJson(text)) : undefined;
    if (!read?.success) {
      const what = response.status === 200 ? 'no token' : String(response.status);
      const message = `The token endpoint of the connection ${name} answered ${what}; check its auth.`;
      throw new ToolError('unavailable', message, { notMade: true });
    }
    const { access_token, expires_in = DEFAULT_S } = read.data;
    return { text: access_token, until: this.#now().getTime() + Math.max(0, expires_in - BEFORE_S) * 1000 };
  }
}
