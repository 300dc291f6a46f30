import assert from 'node:assert/strict';
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { readIdempotencySecret, readSessionSecrets, readSigningKeys } from '../../facade/config/secret-files.ts';
import { OperatorError } from '../../store/errors.ts';
import { Issuer } from '../../tools/sign-in/issuer.ts';
import { testFolder } from '../store/folders.ts';

const DAY = 24 * 60 * 60 * 1000;
const start = new Date('2026-03-01T12:00:00.000Z');
const later = (days: number) => new Date(start.getTime() + days * DAY);
const modeOf = (path: string) => statSync(path).mode & 0o777;

describe('the secrets of session cookies', () => {
  it('are made once, readable by their owner alone', async (test) => {
    const folder = await testFolder(test);
    const secrets = readSessionSecrets(folder);
    assert.ok((secrets[0]?.length ?? 0) >= 43);
    assert.deepEqual(readSessionSecrets(folder), secrets);
    assert.equal(modeOf(join(folder, 'session-secrets')), 0o600);
  });

  it('can be several, one a line, and are closed to others again', async (test) => {
    const path = join(await testFolder(test), 'session-secrets');
    writeFileSync(path, `${'n'.repeat(40)}\n\n  ${'o'.repeat(40)}\r\n`);
    chmodSync(path, 0o644);
    assert.deepEqual(readSessionSecrets(join(path, '..')), ['n'.repeat(40), 'o'.repeat(40)]);
    assert.equal(modeOf(path), 0o600);
  });

  it('that are short or missing stop the start, saying what to do', async (test) => {
    const path = join(await testFolder(test), 'session-secrets');
    for (const text of ['', '\n', 'short\n']) {
      writeFileSync(path, text);
      assert.throws(
        () => readSessionSecrets(join(path, '..')),
        (error) => {
          return error instanceof OperatorError && /session-secrets: write one secret/.test(error.message);
        },
      );
    }
  });
});

it('the secret of repeats is made once, readable by its owner alone, and stops the start where it is too short', async (test) => {
  const folder = await testFolder(test);
  const secret = readIdempotencySecret(folder);
  assert.ok(secret.length >= 43);
  assert.equal(readIdempotencySecret(folder), secret);
  assert.equal(modeOf(join(folder, 'repeats-secret')), 0o600);
  writeFileSync(join(folder, 'repeats-secret'), 'short');
  assert.throws(() => readIdempotencySecret(folder), /repeats-secret: write a secret of at least 32 characters/);
});

describe('the keys of the built-in issuer', () => {
  it('are made once, readable by their owner alone', async (test) => {
    const folder = await testFolder(test);
    const keys = readSigningKeys(folder, start);
    assert.deepEqual(readSigningKeys(folder, later(1)).jwks, keys.jwks);
    assert.equal(modeOf(join(folder, 'signing-keys.json')), 0o600);
  });

  it('are followed by a new one after 90 days; tokens of the one before are good as long as it is published', async (test) => {
    const folder = await testFolder(test);
    const first = readSigningKeys(folder, start);
    const kept = readSigningKeys(folder, later(89));
    assert.equal(kept.kid, first.kid);
    const { idToken } = new Issuer('http://localhost', kept, () => later(90)).issue({ id: 'usr_1', email: 'a@b.c' });
    const second = readSigningKeys(folder, later(90));
    assert.notEqual(second.kid, first.kid);
    assert.deepEqual(
      second.jwks.keys.map((key) => 'kid' in key && key.kid),
      [second.kid, first.kid],
    );
    assert.equal((await new Issuer('http://localhost', second, () => later(90)).verify(idToken)).subject, 'usr_1');
    assert.deepEqual(readFileSync(join(folder, 'signing-keys.json'), 'utf8').match(/"d":/g)?.length, 1);
    assert.equal(readSigningKeys(folder, later(96)).jwks.keys.length, 2);
    const third = readSigningKeys(folder, later(97));
    assert.deepEqual([third.kid, third.jwks.keys.length], [second.kid, 1]);
  });

  it('that cannot be read stop the start', async (test) => {
    const path = join(await testFolder(test), 'signing-keys.json');
    for (const text of [
      '',
      '{',
      '{"keys": []}',
      '{"keys": [{"createdAt": "2026-03-01T12:00:00Z", "jwk": {"kty": "EC"}}]}',
    ]) {
      writeFileSync(path, text);
      assert.throws(() => readSigningKeys(join(path, '..'), start), OperatorError);
    }
  });
});
