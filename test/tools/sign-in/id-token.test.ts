import assert from 'node:assert/strict';
import { createHmac, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { describe, it } from 'node:test';
import jwt from 'jsonwebtoken';
import { ToolError } from '../../../tools/core/errors.ts';
import { SignInRefused, type TokenRules, verifyIdToken } from '../../../tools/sign-in/id-token.ts';

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const other = generateKeyPairSync('rsa', { modulusLength: 2048 });
const keys: Readonly<Record<string, KeyObject>> = { rsa: rsa.publicKey, ec: ec.publicKey };

const now = new Date('2026-03-01T12:00:00.000Z');
const seconds = now.getTime() / 1000;
const rules: TokenRules = {
  issuer: 'https://id.example.com',
  audience: 'client-1',
  algorithms: ['RS256', 'ES256'],
  keys: async ({ kid }) => keys[kid ?? ''],
  nonce: 'n-1',
  now: () => now,
};
const good = {
  iss: rules.issuer,
  aud: rules.audience,
  sub: 'person-1',
  email: 'Ada@Example.com',
  email_verified: true,
  nonce: 'n-1',
  iat: seconds,
  exp: seconds + 300,
};

interface Options {
  readonly key?: KeyObject;
  readonly header?: object;
}

function token(change: object = {}, { key = rsa.privateKey, header = {} }: Options = {}): string {
  const claims = JSON.parse(JSON.stringify({ ...good, ...change }));
  return jwt.sign(claims, key, { algorithm: 'RS256', header: { alg: 'RS256', kid: 'rsa', ...header } });
}

/** Three parts with the signature made by the function. */
function raw(header: object, claims: unknown, sign: (text: string) => string): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const text = `${part(header)}.${part(claims)}`;
  return `${text}.${sign(text)}`;
}

const pem = rsa.publicKey.export({ type: 'spki', format: 'pem' });
const hmacWithPublicKey = (text: string) => createHmac('sha256', pem).update(text).digest('base64url');
const { aud: _, ...withoutAudience } = good;
const { iat: __, ...withoutTime } = good;

const refused: Readonly<Record<string, string>> = {
  'alg none': raw({ alg: 'none' }, good, () => ''),
  'alg none with a key id': raw({ alg: 'none', kid: 'rsa' }, good, () => ''),
  'alg in other letters': raw({ alg: 'NoNe', kid: 'rsa' }, good, () => 'x'),
  'HS256 signed with the public key': raw({ alg: 'HS256', kid: 'rsa', typ: 'JWT' }, good, hmacWithPublicKey),
  'RS256 claimed for an HMAC': raw({ alg: 'RS256', kid: 'rsa', typ: 'JWT' }, good, hmacWithPublicKey),
  'no signature': token().replace(/[^.]+$/, ''),
  'a signature cut short': token().slice(0, -20),
  'changed claims': token().replace(
    /\.[^.]+\./,
    `.${Buffer.from(JSON.stringify({ ...good, email: 'eve@example.com' })).toString('base64url')}.`,
  ),
  'another key': token({}, { key: other.privateKey }),
  'a key of another kind': token({}, { header: { kid: 'ec' } }),
  'an unknown key id': token({}, { header: { kid: 'nobody' } }),
  'no key id': token({}, { header: { kid: undefined } }),
  'another algorithm of the right key': jwt.sign({ ...good }, rsa.privateKey, { algorithm: 'RS512', keyid: 'rsa' }),
  'critical headers': token({}, { header: { crit: ['b64'], b64: true } }),
  'another issuer': token({ iss: 'https://evil.example.com' }),
  'an issuer that only begins alike': token({ iss: `${rules.issuer}.evil.example` }),
  'no issuer': token({ iss: undefined }),
  'another audience': token({ aud: 'client-2' }),
  'no audience': jwt.sign(withoutAudience, rsa.privateKey, { algorithm: 'RS256', keyid: 'rsa' }),
  'several audiences without an authorized party': token({ aud: ['client-1', 'client-2'] }),
  'another authorized party': token({ azp: 'client-2' }),
  'another nonce': token({ nonce: 'n-2' }),
  'no nonce': token({ nonce: undefined }),
  'expired longer ago than clocks differ': token({ exp: seconds - 60 }),
  'no expiry': token({ exp: undefined }),
  'not valid yet': token({ nbf: seconds + 61 }),
  'made in the future': token({ iat: seconds + 61 }),
  'no time of making': jwt.sign(withoutTime, rsa.privateKey, { algorithm: 'RS256', keyid: 'rsa', noTimestamp: true }),
  'no subject': token({ sub: undefined }),
  'no e-mail': token({ email: undefined }),
  'an e-mail that is none': token({ email: 'ada' }),
  'an unverified e-mail': token({ email_verified: false }),
  'an e-mail of which it is not said': token({ email_verified: undefined }),
  'a verified e-mail in words': token({ email_verified: 'true' }),
  'null for claims': raw({ alg: 'RS256', kid: 'rsa', typ: 'JWT' }, null, () => 'x'),
  'a list for a header': raw([], good, () => 'x'),
  'a number for a key id': raw({ alg: 'RS256', kid: 7 }, good, () => 'x'),
  'no token': 'token',
  'an empty text': '',
  'two parts': 'a.b',
  'parts that are no JSON': 'e30.%%%.x',
  'too long a text': `${token()}${'x'.repeat(20_000)}`,
};

describe('verifyIdToken', () => {
  it('returns the person of a good token, with the e-mail in lower case', async () => {
    const identity = await verifyIdToken(token({ jti: 't-1' }), rules);
    assert.deepEqual(identity, {
      issuer: rules.issuer,
      subject: 'person-1',
      email: 'ada@example.com',
      jti: 't-1',
      expiresAt: new Date((seconds + 300) * 1000),
    });
  });

  it('takes several audiences where the authorized party is this client, and every algorithm it is given', async () => {
    await verifyIdToken(token({ aud: ['client-2', 'client-1'], azp: 'client-1' }), rules);
    await verifyIdToken(jwt.sign(good, ec.privateKey, { algorithm: 'ES256', keyid: 'ec' }), rules);
  });

  it('allows clocks to differ by a minute', async () => {
    for (const change of [{ exp: seconds - 59 }, { nbf: seconds + 60 }, { iat: seconds + 60 }]) {
      await verifyIdToken(token(change), rules);
    }
  });

  for (const [what, given] of Object.entries(refused)) {
    it(`refuses ${what}`, async () => {
      await assert.rejects(verifyIdToken(given, rules), (error) => {
        assert.ok(error instanceof ToolError);
        assert.deepEqual([error.code, error.message, error.detail], ['unauthenticated', 'Authentication required', {}]);
        assert.ok(error.cause instanceof SignInRefused);
        return true;
      });
    });
  }

  it('refuses a token with a nonce where none was asked for', async () => {
    const { nonce: _, ...withoutNonce } = rules;
    await verifyIdToken(token({ nonce: undefined }), withoutNonce);
    await assert.rejects(verifyIdToken(token(), withoutNonce), { code: 'unauthenticated' });
  });

  it('refuses a private key in place of a public one', async () => {
    const keys = async () => rsa.privateKey;
    await assert.rejects(verifyIdToken(token(), { ...rules, keys }), { code: 'unauthenticated' });
  });

  it('passes on that the keys cannot be had now', async () => {
    const keys = async () => {
      throw new ToolError('unavailable', 'The issuer does not answer; try again.');
    };
    await assert.rejects(verifyIdToken(token(), { ...rules, keys }), { code: 'unavailable' });
  });
});
