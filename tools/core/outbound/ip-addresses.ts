import { lookup as lookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';

/** IPv6 addresses outside this range are not the public Internet. */
const GLOBAL_6 = ipaddr.parseCIDR('2000::/3');

/**
 * Whether the IP address belongs to the public Internet: not private, loopback, link-local (cloud metadata), multicast, reserved, for
 * documentation, or an IPv6 address that carries an IPv4 address. False for a text that is not an address.
 */
export function isPublic(address: string): boolean {
  if (isIP(address) === 0 || address.includes('%')) return false;
  const read = ipaddr.parse(address);
  return read.range() === 'unicast' && (read.kind() === 'ipv4' || read.match(GLOBAL_6));
}

/** An address that an integration may not have. The message is for people who manage integrations. */
export class AddressRefused extends Error {
  constructor(host: string) {
    super(`${host} is a private or local address; set PRIVATE_UPSTREAMS=on to allow such.`);
  }
}

/** Gives a connection only addresses that were checked. A name with any closed address is refused. */
export const publicLookup: LookupFunction = (hostname, options, callback) => {
  lookupAddress(hostname, { ...options, all: true }, (error, found) => {
    if (error) return callback(error, []);
    if (found.some(({ address }) => !isPublic(address))) return callback(new AddressRefused(hostname), []);
    if (options.all) return callback(null, found);
    const [first] = found;
    callback(null, first?.address ?? '', first?.family);
  });
};

export function hostOf({ hostname }: URL): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
}

/** Why nothing may be sent to the URL: it names a closed address, or a name that now resolves to one. */
export async function addressRefusal(url: URL): Promise<string | undefined> {
  const host = hostOf(url);
  if (isIP(host)) return isPublic(host) ? undefined : new AddressRefused(host).message;
  return new Promise((resolve) => {
    publicLookup(host, { all: true }, (error) => {
      // A name that cannot be resolved now is checked again when a connection is made.
      resolve(error instanceof AddressRefused ? error.message : undefined);
    });
  });
}
