import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { addressRefusal, hostOf, isPublic, publicLookup } from '../../../tools/core/outbound/ip-addresses.ts';

describe('public addresses', () => {
  const closed = [
    ...['0.0.0.0', '10.1.2.3', '100.64.0.1', '100.100.100.200', '127.0.0.1', '127.255.255.254', '169.254.169.254'],
    ...['172.16.0.1', '172.31.255.255', '192.168.1.1', '198.18.0.1', '224.0.0.1', '240.0.0.1', '255.255.255.255'],
    ...[
      '::',
      '::1',
      '::ffff:127.0.0.1',
      '::ffff:8.8.8.8',
      '::127.0.0.1',
      'fe80::1',
      'fe80::1%lo',
      'fc00::1',
      'fd00:ec2::254',
    ],
    ...[
      '64:ff9b::7f00:1',
      '2002:7f00:1::',
      '2001:0:1::',
      'ff02::1',
      '2001:db8::1',
      'localhost',
      '',
      '1.2.3',
      '010.1.1.1',
    ],
    ...[
      '192.0.0.8',
      '192.0.2.1',
      '192.88.99.1',
      '198.51.100.1',
      '203.0.113.1',
      '239.1.1.1',
      '3fff::1',
      '4000::1',
      'fec0::1',
    ],
    ...['2001:1::1', '100::1', '64:ff9b:1::1', '5f00::1'],
  ];
  for (const address of closed)
    it(`do not include ${address || 'nothing'}`, () => assert.equal(isPublic(address), false));

  for (const address of ['8.8.8.8', '172.32.0.1', '100.128.0.1', '2606:4700:4700::1111', '2a00:1450::1']) {
    it(`include ${address}`, () => assert.equal(isPublic(address), true));
  }

  it('are looked at as the URL parser reads them, however they are written', async () => {
    for (const host of ['0x7f.1', '2130706433', '017700000001', '127.1', '[::ffff:7f00:1]', '[::1]', 'localhost']) {
      const url = new URL(`http://${host}:1/`);
      assert.match((await addressRefusal(url)) ?? '', /private or local address/, `${host} ${hostOf(url)}`);
    }
    assert.equal(await addressRefusal(new URL('https://8.8.8.8/')), undefined);
  });

  it('are what a connection resolves to, or it gets none', async () => {
    for (const all of [true, false]) {
      const error = await new Promise<Error | null>((resolve) => publicLookup('localhost', { all }, resolve));
      assert.match(String(error), /private or local/);
    }
  });
});
