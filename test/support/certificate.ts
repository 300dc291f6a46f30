import { generateKeyPairSync, sign } from 'node:crypto';

/** A key and a certificate for this machine, as a server on loopback needs them for https. */
export function makeCertificate(): { readonly key: string; readonly cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const name = sequence(set(sequence(oid('550403'), text(0x0c, 'localhost'))));
  const about = sequence(
    der(0xa0, integer(2)),
    integer(1),
    ECDSA_SHA256,
    name,
    sequence(text(0x18, '20200101000000Z'), text(0x18, '21200101000000Z')),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(extension('551d11', sequence(text(0x82, 'localhost'), der(0x87, Buffer.from([127, 0, 0, 1])))))),
  );
  const signature = sign('sha256', about, privateKey);
  const certificate = sequence(about, ECDSA_SHA256, der(0x03, Buffer.from([0]), signature));
  const lines = certificate.toString('base64').replace(/.{64}/g, '$&\n');
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
  };
}

/** DER (X.690): a tag, the length, and the content. */
function der(tag: number, ...content: readonly Buffer[]): Buffer {
  const body = Buffer.concat(content);
  const short = body.length < 0x80;
  const length = short ? [body.length] : [0x82, body.length >> 8, body.length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...length]), body]);
}

const sequence = (...content: readonly Buffer[]) => der(0x30, ...content);
const set = (...content: readonly Buffer[]) => der(0x31, ...content);
const oid = (hex: string) => der(0x06, Buffer.from(hex, 'hex'));
const integer = (value: number) => der(0x02, Buffer.from([value]));
const text = (tag: number, value: string) => der(tag, Buffer.from(value));
const extension = (id: string, value: Buffer) => sequence(oid(id), der(0x04, value));

const ECDSA_SHA256 = sequence(oid('2a8648ce3d040302'));
