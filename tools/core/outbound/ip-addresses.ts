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

/** Where clouds answer machines, beside link-local addresses. */
const METADATA = ['100.100.100.200', '192.0.0.192', 'fd00:ec2::254', 'fd00:ec2::23', 'fd20:ce::254'];

/** Whether the IP address is link-local or one of cloud metadata, which tells credentials: nothing is ever sent there. */
function isMetadata(address: string): boolean {
  const [bare = ''] = address.split('%');
  if (isIP(bare) === 0) return false;
  const read = ipaddr.parse(bare);
  const inner =
    read.kind() === 'ipv6' && CARRIES_4.has(read.range()) ? ipaddr.fromByteArray(read.toByteArray().slice(-4)) : read;
  return inner.range() === 'linkLocal' || METADATA.includes(inner.toString());
}

/** Ranges of IPv6 whose addresses end with one of IPv4. */
const CARRIES_4: ReadonlySet<string> = new Set(['ipv4Mapped', 'rfc6052', 'rfc6145']);

/** An address that an integration may not have. The message is for people who manage integrations. */
export class AddressRefused extends Error {
  readonly why: string;
  /** Whether a setting may allow it. */
  readonly isPrivate: boolean;

  constructor(host: string, isPrivate = true) {
    const why = `${host} is ${isPrivate ? 'a private or local address' : 'a link-local address or one of cloud metadata'}`;
    super(isPrivate ? `${why}; set PRIVATE_UPSTREAMS=on to allow such.` : `${why}, which is never allowed.`);
    this.why = why;
    this.isPrivate = isPrivate;
  }
}

/** Why nothing may be sent to one of these addresses of the host. */
export function refusalOf(host: string, addresses: readonly string[], privateAddresses: boolean) {
  if (addresses.some(isMetadata)) return new AddressRefused(host, false);
  return privateAddresses || addresses.every(isPublic) ? undefined : new AddressRefused(host);
}

/** Gives a connection only addresses that were checked. A name with any closed address is refused. */
export function checkedLookup(privateAddresses: boolean): LookupFunction {
  return (hostname, options, callback) => {
    lookupAddress(hostname, { ...options, all: true }, (error, found) => {
      if (error) return callback(error, []);
      const addresses = found.map(({ address }) => address);
      const refused = refusalOf(hostname, addresses, privateAddresses);
      if (refused) return callback(refused, []);
      if (options.all) return callback(null, found);
      const [first] = found;
      callback(null, first?.address ?? '', first?.family);
    });
  };
}

export const publicLookup = checkedLookup(false);

export function hostOf({ hostname }: URL): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
}

/** Why nothing may be sent to the URL: it names a closed address, or a name that now resolves to one. */
export async function addressRefusal(url: URL): Promise<string | undefined> {
  const host = hostOf(url);
  if (isIP(host)) return refusalOf(host, [host], false)?.message;
  return new Promise((resolve) => {
    publicLookup(host, { all: true }, (error) => {
      // A name that cannot be resolved now is checked again when a connection is made.
      resolve(error instanceof AddressRefused ? error.message : undefined);
    });
  });
}
