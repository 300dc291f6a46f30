import { BlockList, isIP, isIPv6 } from 'node:net';

const NAMED = 'loopback';

/** Whether the text names proxies to trust: `loopback`, an address or a network, but not all addresses. */
export function isProxyName(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/');
  if (text === NAMED) return true;
  const version = isIP(address);
  if (version === 0 || address.includes('%') || rest.length > 0) return false;
  return bits === undefined || (/^[1-9]\d{0,2}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128));
}

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

/** An IPv4 address in the form that an IPv6 socket shows. */
export function unmapped(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '');
}
