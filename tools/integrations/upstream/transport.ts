import { extractWWWAuthenticateParams, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { z } from 'zod';
import { createFetch, type Fetch } from '../../core/outbound/fetch.ts';
import { type AccountAuth, accountRequiredBy } from '../accounts/account-tokens.ts';
import { type StdioTarget, StdioTransport } from './stdio-transport.ts';
import type { Watchdog } from './watchdog.ts';

export const MOST_BYTES = 1024 * 1024;

export interface TransportOptions {
  readonly privateAddresses: boolean;
  readonly watchdog: Watchdog;
}

interface HttpTarget {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly account?: AccountAuth;
}

/** How to reach a server, with its secrets decrypted. */
export type Target = { readonly stdio: StdioTarget } | { readonly http: HttpTarget };

/** Why a connection could not be made, or ended. Includes what the program wrote last. */
export class ConnectionFailure extends Error {
  readonly wrote: string;

  constructor(cause: unknown, { transport }: TransportHandle) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.wrote = transport instanceof StdioTransport ? transport.stderr.trim() : '';
  }
}

export interface TransportHandle {
  readonly transport: StdioTransport | StreamableHTTPClientTransport;
  /** Why the server refuses everybody, or this account, where that can be found out. */
  refusal(signal: AbortSignal, error: unknown): Promise<Error | undefined>;
  /** Releases what the transport does not release by itself. */
  release(): void;
}

export function secretsOf(target: Target): string[] {
  if ('stdio' in target) return Object.values(target.stdio.env);
  const { headers, account } = target.http;
  return [...Object.values(headers), ...(account?.seen ?? [])];
}

export function transportTo(target: Target, { privateAddresses, watchdog }: TransportOptions): TransportHandle {
  if ('stdio' in target) {
    return {
      transport: new StdioTransport(target.stdio, MOST_BYTES, watchdog),
      refusal: async () => undefined,
      release() {},
    };
  }
  const { url, headers, account } = target.http;
  const { fetch, challenge, close } = createFetch({ privateAddresses, mostBytes: MOST_BYTES });
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    fetch: account?.watch(fetch) ?? fetch,
    requestInit: { headers: { ...headers } },
    ...(account && { authProvider: account }),
  });
  return {
    transport,
    refusal: async (signal, error) =>
      account ? accountRequiredBy(error) : askOAuth(new URL(url), headers, { fetch, challenge: challenge(), signal }),
    release: close,
  };
}

const ASK_MS = 5000;
const LONGEST_ORIGIN = 200;
const LARGEST_DOCUMENT = 64 * 1024;

/** The server answers 401 and names an authorization server for its tokens. Trying again does not help. */
export class OAuthRequired extends Error {
  constructor(hasToken: boolean, issuer: string | undefined) {
    const problem = hasToken ? 'refuses the Authorization that it is given (401) and wants OAuth' : 'wants OAuth (401)';
    super(
      `It ${problem}${issuer ? ` with a token of ${issuer}` : ''}. Give it a token in \`headers\`, as Authorization, with update_integration; until then it is not tried again.`,
    );
  }
}

interface Asking {
  readonly fetch: Fetch;
  /** The `WWW-Authenticate` header of its 401. Undefined if it answered something else. */
  readonly challenge: string | undefined;
  readonly signal: AbortSignal;
}

/** Whether a server that answered 401 wants OAuth: it names metadata, or its origin publishes some (RFC 9728, RFC 8414). */
async function askOAuth(
  url: URL,
  headers: Readonly<Record<string, string>>,
  { fetch, challenge, signal: given }: Asking,
): Promise<OAuthRequired | undefined> {
  if (challenge === undefined) return undefined;
  const refusal = new Response(null, { headers: { 'WWW-Authenticate': challenge } });
  const { resourceMetadataUrl: named } = extractWWWAuthenticateParams(refusal);
  const signal = AbortSignal.any([given, AbortSignal.timeout(ASK_MS)]);
  let found: Metadata | undefined;
  for (const place of placesOf(url, named)) {
    found = await read(place, fetch, signal);
    if (found) break;
  }
  if (!found && named === undefined) return undefined;
  const hasToken = Object.keys(headers).some((name) => name.toLowerCase() === 'authorization');
  return new OAuthRequired(hasToken, found?.issuer);
}

interface Metadata {
  readonly issuer?: string;
}

/** The places to look for metadata, all at the server's own origin, so that the server cannot send requests elsewhere. */
function placesOf(url: URL, named: URL | undefined): URL[] {
  const path = url.pathname.replace(/\/$/, '');
  const own = named?.origin === url.origin ? [named] : [];
  const known = ['oauth-protected-resource', 'oauth-authorization-server'].flatMap((document) =>
    [...new Set([path, ''])].map((each) => new URL(`/.well-known/${document}${each}`, url)),
  );
  return [...own, ...known];
}

async function read(place: URL, fetch: Fetch, signal: AbortSignal): Promise<Metadata | undefined> {
  try {
    const response = await fetch(place, { headers: { Accept: 'application/json' }, signal });
    const text = await response.text();
    if (response.status !== 200 || text.length > LARGEST_DOCUMENT) return undefined;
    return metadata.safeParse(JSON.parse(text)).data;
  } catch {
    // The answer is not metadata.
    return undefined;
  }
}

const metadata = z.union([
  z.object({ issuer: z.string(), token_endpoint: z.string() }).transform(({ issuer }) => shownIssuer(issuer)),
  z
    .object({ resource: z.string(), authorization_servers: z.array(z.unknown()).catch([]) })
    .transform(({ authorization_servers: [issuer] }) => shownIssuer(issuer)),
]);

/** The issuer, if it is an address and nothing else. */
function shownIssuer(issuer: unknown): Metadata {
  if (typeof issuer !== 'string' || !URL.canParse(issuer)) return {};
  const { protocol, origin } = new URL(issuer);
  return /^https?:$/.test(protocol) && origin.length <= LONGEST_ORIGIN ? { issuer: origin } : {};
}
