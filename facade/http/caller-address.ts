import type { IncomingMessage } from 'node:http';
import { isIP, isIPv6, SocketAddress } from 'node:net';
import type { Request } from 'express';
import { unmapped } from '../config/trusted-proxies.ts';

/**
 * The address that a request comes from: if the connection comes from a trusted proxy, the right-most address of `X-Forwarded-For` that is no
 * trusted proxy (Express's setting `trust proxy`); otherwise the address of the connection. If the header holds something other than addresses,
 * the readable part that trusted proxies wrote counts.
 */
export function addressOf(request: IncomingMessage): string {
  // Every request of the app has Express's members; outermost first, without the end of the connection.
  const { ips } = request as Request;
  for (const hop of ips) {
    const address = addressIn(hop);
    if (address !== undefined) return address;
  }
  return unmapped(request.socket.remoteAddress ?? 'unknown');
}

/** The address in its usual spelling, without the port that some proxies add. */
function addressIn(hop: string): string | undefined {
  const bare = /^\[([^\]]*)\](?::\d+)?$/.exec(hop)?.[1] ?? /^([\d.]+):\d+$/.exec(hop)?.[1] ?? hop;
  // The name of a network interface means nothing on another machine.
  if (isIP(bare) === 0 || bare.includes('%')) return undefined;
  return unmapped(isIPv6(bare) ? new SocketAddress({ address: bare, family: 'ipv6' }).address : bare);
}
