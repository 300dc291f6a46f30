import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createFetch } from '../../core/outbound/fetch.ts';
import { type AccountAuth, accountRequiredBy } from '../accounts/account-tokens.ts';
import { askOAuth } from './oauth.ts';
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

  constructor(cause: unknown, { transport }: Line) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.wrote = transport instanceof StdioTransport ? transport.stderr.trim() : '';
  }
}

export interface Line {
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

export function lineTo(target: Target, { privateAddresses, watchdog }: TransportOptions): Line {
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
