import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isoCBOR } from '@simplewebauthn/server/helpers';

interface ToMake {
  readonly challenge: string;
  readonly rp: { readonly id: string };
  readonly user: { readonly id: string };
}

interface ToUse {
  readonly challenge: string;
  readonly rpId: string;
}

/** What a test has it say differently from what it was asked. */
export interface Lies {
  readonly origin?: string;
  readonly challenge?: string;
  readonly rpId?: string;
  readonly userHandle?: string;
  readonly verifiesNobody?: boolean;
  readonly counter?: number;
  readonly key?: KeyObject;
}

const PRESENT = 0x01;
const VERIFIED = 0x04;
const HAS_KEY = 0x40;

/** An authenticator in software with one passkey, as a browser at an origin speaks for it. */
export class Authenticator {
  readonly id = randomBytes(16).toString('base64url');
  counter = 0;
  readonly #keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  readonly #origin: string;
  #userHandle = '';

  constructor(origin: string) {
    this.#origin = origin;
  }

  make({ challenge, rp, user }: ToMake, lies: Lies = {}): string {
    this.#userHandle = user.id;
    const id = Buffer.from(this.id, 'base64url');
    const length = Buffer.alloc(2);
    length.writeUInt16BE(id.length);
    const attested = Buffer.concat([Buffer.alloc(16), length, id, this.#coseKey()]);
    const authData = Buffer.concat([this.#head(rp.id, lies, HAS_KEY), attested]);
    const attestation = new Map<string, unknown>([
      ['fmt', 'none'],
      ['attStmt', new Map()],
      ['authData', Uint8Array.from(authData)],
    ]);
    return this.#answer({
      clientDataJSON: this.#clientData('webauthn.create', challenge, lies).toString('base64url'),
      attestationObject: encode(attestation).toString('base64url'),
    });
  }

  use({ challenge, rpId }: ToUse, lies: Lies = {}): string {
    if (this.counter > 0) this.counter += 1;
    const authenticatorData = this.#head(rpId, lies, 0);
    const clientData = this.#clientData('webauthn.get', challenge, lies);
    const signed = Buffer.concat([authenticatorData, createHash('sha256').update(clientData).digest()]);
    return this.#answer({
      clientDataJSON: clientData.toString('base64url'),
      authenticatorData: authenticatorData.toString('base64url'),
      signature: sign('sha256', signed, lies.key ?? this.#keys.privateKey).toString('base64url'),
      userHandle: lies.userHandle ?? this.#userHandle,
    });
  }

  #answer(response: object): string {
    const { id } = this;
    return JSON.stringify({ id, rawId: id, type: 'public-key', response, clientExtensionResults: {} });
  }

  #clientData(type: string, asked: string, { challenge = asked, origin = this.#origin }: Lies): Buffer {
    return Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }));
  }

  #head(asked: string, { rpId = asked, verifiesNobody = false, counter = this.counter }: Lies, more: number): Buffer {
    const rest = Buffer.alloc(5);
    rest.writeUInt8(PRESENT | (verifiesNobody ? 0 : VERIFIED) | more);
    rest.writeUInt32BE(counter, 1);
    return Buffer.concat([createHash('sha256').update(rpId).digest(), rest]);
  }

  #coseKey(): Buffer {
    const { x = '', y = '' } = this.#keys.publicKey.export({ format: 'jwk' });
    const bytes = (text: string) => Uint8Array.from(Buffer.from(text, 'base64url'));
    const members: [number, unknown][] = [
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, bytes(x)],
      [-3, bytes(y)],
    ];
    return encode(new Map(members));
  }
}

function encode(value: Map<unknown, unknown>): Buffer {
  return Buffer.from(isoCBOR.encode(value as never)); // CBOR has maps with any keys
}
