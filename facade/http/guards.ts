import type { IncomingMessage } from 'node:http';
import { localhostAllowedHostnames, validateHostHeader } from '@modelcontextprotocol/server';
import { ToolError } from '../../tools/core/errors.ts';
import { isLoopback } from '../config/sign-in-config.ts';

/** Refuses requests for a host that is not ours (DNS rebinding) and from pages of foreign origins. */
export type Guards = ReturnType<typeof createGuards>;

interface GuardOptions {
  readonly host: string;
  readonly baseUrl: string;
  readonly allowedOrigins: readonly string[];
}

/** A server on all interfaces cannot know the names by which it is reached, so the check of Host works only if BASE_URL is set. */
export function createGuards({ host, baseUrl, allowedOrigins }: GuardOptions) {
  const base = new URL(baseUrl);
  const hostnames = [...new Set([...localhostAllowedHostnames(), bracketed(host), base.hostname])];
  const origins = new Set([base.origin, ...allowedOrigins]);
  const known = new Set<string>();

  function checkHost({ headers: { host: given } }: IncomingMessage): void {
    if (given !== undefined && known.has(given)) return;
    if (!validateHostHeader(given, hostnames).ok) {
      throw foreign('Host', 'This server does not answer for it; set BASE_URL to the address you use.');
    }
    if (given !== undefined && known.size < 100) known.add(given);
  }

  return {
    /** Checks Host alone, for endpoints that pages of every origin may call. */
    checkHost,
    /** `byCookie`: whether a browser may have sent the request without its user knowing. */
    check(request: IncomingMessage, byCookie: boolean): void {
      const { headers, method = '' } = request;
      checkHost(request);
      const { origin } = headers;
      // A page that was opened under another name of this server, such as localhost for 127.0.0.1, calls under that name.
      const own =
        origins.has(origin ?? '') || origin === `${base.protocol}//${headers.host}` || isOtherName(origin, base);
      if (origin !== undefined && !own) {
        throw foreign('Origin', 'Its pages may not call; add it to ALLOWED_ORIGINS.');
      }
      if (byCookie && !SAFE.includes(method) && headers['sec-fetch-site'] === 'cross-site') {
        throw foreign('Sec-Fetch-Site', 'Pages of other sites may change nothing with the cookie of this one.');
      }
    },
  };
}

/** Whether it is this server under another name of this machine: localhost, 127.0.0.1, [::1]. */
export function isOtherName(origin: string | undefined, base: URL): boolean {
  if (origin === undefined || !isLoopback(origin) || !isLoopback(base.href)) return false;
  const { protocol, port } = new URL(origin);
  return protocol === base.protocol && port === base.port;
}

const SAFE = ['GET', 'HEAD', 'OPTIONS'];

function foreign(header: string, message: string): ToolError {
  return new ToolError('forbidden', 'Insufficient permissions', { issues: [{ path: header, message }] });
}

function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
