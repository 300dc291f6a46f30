import { lookup as lookupAddress } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';

/**
 * IPv4 networks that are not the public Internet: private, loopback, link-local (cloud metadata), carrier-grade NAT, multicast, reserved.
 */
const CLOSED_4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
];
/**
 * IPv6 networks outside this range are not the public Internet. Inside it, these are not: tunnels, which carry IPv4 addresses, and
 * documentation.
 */
const GLOBAL_6 = '2000::/3';
const CLOSED_6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

const closed4 = listOf(CLOSED_4, 'ipv4');
const closed6 = listOf(CLOSED_6, 'ipv6');
const global6 = listOf([GLOBAL_6], 'ipv6');

function listOf(networks: readonly string[], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits] = network.split('/');
    list.addSubnet(address, Number(bits), family);
  }
  return list;
}

/** Whether the IP address belongs to the public Internet. False for a text that is not an address. */
export function isPublic(address: string): boolean {
  const version = isIP(address);
  if (version === 4) return !closed4.check(address, 'ipv4');
  return version === 6 && !address.includes('%') && global6.check(address, 'ipv6') && !closed6.check(address, 'ipv6');
}

/** An address that an integration may not have. The message is for people who manage integrations. */
export class AddressRefused extends Error {
  constructor(host: string) {
    super(`${host} is a private or local address; set PRIVATE_UPSTREAMS=on to allow such.`);
  }
}

/**
 * Resolves a name for a connection and returns only checked addresses, so the connection cannot go elsewhere. A name with any closed
 * address is refused.
 */
export const publicLookup: LookupFunction = (hostname, options, callback) => {
  lookupAddress(hostname, { ...options, all: true }, (error, found) => {
    if (error) return callback(error, []);
    if (found.some(({ address }) => !isPublic(address))) return callback(new AddressRefused(hostname), []);
    if (options.all) return callback(null, found);
    const [first] = found;
    callback(null, first?.address ?? '', first?.family);
  });
};

/** The host of a URL in the form that `net` takes. */
export function hostOf({ hostname }: URL): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
}

/** @throws AddressRefused if the URL names a closed address, or a name that now resolves to one */
export async function requirePublic(url: URL): Promise<void> {
  const host = hostOf(url);
  if (isIP(host)) {
    if (!isPublic(host)) throw new AddressRefused(host);
    return;
  }
  await new Promise<void>((resolve, reject) => {
    publicLookup(host, { all: true }, (error) => {
      // A name that cannot be resolved now is checked again when a connection is made.
      if (error instanceof AddressRefused) reject(error);
      else resolve();
    });
  });
}
