import { createPrivateKey, createPublicKey, hash, hkdfSync, type KeyObject, sign, verify } from 'node:crypto';

/** PKCS #8 and SPKI of an Ed25519 key without its 32 bytes (RFC 8410). */
const PRIVATE = Buffer.from('302e020100300506032b657004220420', 'hex');
const PUBLIC = Buffer.from('302a300506032b6570032100', 'hex');
const BYTES = 32;

/** Signs the heads of the audit log, and derives the keys of its hashes. Both come from one secret. */
export class ProofKey {
  readonly publicKey: PublicProofKey;
  readonly #private: KeyObject;
  readonly #secret: string;

  constructor(secret: string) {
    this.#secret = secret;
    const seed = Buffer.from(hkdfSync('sha256', secret, '', 'audit heads', BYTES));
    this.#private = createPrivateKey({ key: Buffer.concat([PRIVATE, seed]), format: 'der', type: 'pkcs8' });
    const spki = createPublicKey(this.#private).export({ format: 'der', type: 'spki' });
    this.publicKey = new PublicProofKey(spki.subarray(PUBLIC.length).toString('base64url'));
  }

  sign(text: string): string {
    return sign(null, Buffer.from(text), this.#private).toString('base64url');
  }

  /** The key of the hashes of one span. A head reveals it once no more entries can be added to that span. */
  spanKey(chain: string, span: number): string {
    return Buffer.from(hkdfSync('sha256', this.#secret, '', `audit span ${chain} ${span}`, BYTES)).toString(
      'base64url',
    );
  }
}

/** 32 bytes in base64url, as `doctor` prints them. */
export class PublicProofKey {
  readonly text: string;
  readonly id: string;
  readonly #key: KeyObject;

  /** @throws Error if it is not such a key */
  constructor(text: string) {
    const bytes = Buffer.from(text, 'base64url');
    if (bytes.length !== BYTES) throw new Error('it is not 32 bytes in base64url');
    this.text = text;
    this.id = hash('sha256', bytes).slice(0, 16);
    this.#key = createPublicKey({ key: Buffer.concat([PUBLIC, bytes]), format: 'der', type: 'spki' });
  }

  verifies(text: string, signature: string): boolean {
    const bytes = Buffer.from(signature, 'base64url');
    // Other spellings of the same bytes are other signatures.
    return bytes.toString('base64url') === signature && verify(null, Buffer.from(text), this.#key, bytes);
  }
}
