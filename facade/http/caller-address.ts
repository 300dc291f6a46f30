import type { IncomingMessage } from 'node:http';
import { BlockList, isIP, isIPv6, SocketAddress } from 'node:net';
import type { Request } from 'express';

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

/** An IPv4 address in the form that an IPv6 socket shows. */
function unmapped(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '');
}

const NAMED = 'loopback';

/** Whether the text names proxies to trust: `loopback`, an address or a network, but not all addresses. */
export function isProxyName(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/');
  if (text === NAMED) return true;
  const version = isIP(address);
  if (version === 0 || address.includes('%') || rest.length > 0) return false;
  return bits === undefined || (/^[1-9]\d{0,2}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128));
}

/** Whether an address is one of the named proxies. */
export function proxyTest(names: readonly string[]): (address: string) => boolean {
  const proxies = new BlockList();
  for (const name of names.flatMap((each) => (each === NAMED ? LOOPBACK : each))) {
    const [address = '', bits] = name.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    if (bits === undefined) proxies.addAddress(address, family);
    else proxies.addSubnet(address, Number(bits), family);
  }
  return (address) => {
    const plain = unmapped(address);
    return isIP(plain) !== 0 && proxies.check(plain, isIPv6(plain) ? 'ipv6' : 'ipv4');
  };
}

const LOOPBACK = ['127.0.0.0/8', '::1'];
