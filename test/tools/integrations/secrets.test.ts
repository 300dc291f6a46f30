import assert from 'node:assert/strict';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { createSecretBox } from '../../../tools/integrations/secrets.ts';
import { withFolder } from '../../support/child.ts';
import { fc } from '../../support/property.ts';

const KEY = Buffer.alloc(32, 7).toString('base64');
const OTHER = Buffer.alloc(32, 8).toString('hex');

describe('a secret box', () => {
  it('opens what it sealed, and shows nothing of it', () => {
    const box = createSecretBox(KEY, '/nowhere');
    fc.assert(
      fc.property(fc.string({ minLength: 1, unit: 'binary' }), fc.string(), (text, place) => {
        const wellFormed = text.toWellFormed();
        const sealed = box.seal(wellFormed, place);
        assert.match(sealed, /^v1\.[0-9a-f]{8}\.[\w-]{16}\.[\w-]{22,}$/);
        assert.equal(box.open(sealed, place), wellFormed);
        assert.notEqual(box.seal(wellFormed, place), sealed);
      }),
    );
  });

  it('opens nothing at another place, and nothing that was changed', () => {
    const box = createSecretBox(KEY, '/nowhere');
    const sealed = box.seal('hunter2', 'int_1 env TOKEN');
    assert.throws(() => box.open(sealed, 'int_2 env TOKEN'), /changed/);
    assert.throws(() => box.open(`${sealed.slice(0, -2)}AA`, 'int_1 env TOKEN'), /changed/);
    assert.throws(() => box.open('hunter2', 'int_1 env TOKEN'), /not one that this server sealed/);
  });

  it('says which key it needs where it has another one, and neither of them', () => {
    const sealed = createSecretBox(KEY, '/nowhere').seal('hunter2', 'x');
    const keyId = sealed.split('.')[1] ?? '';
    assert.throws(
      () => createSecretBox(OTHER, '/nowhere').open(sealed, 'x'),
      ({ message }: Error) => {
        assert.match(message, new RegExp(`sealed with the key ${keyId}.*SECRETS_KEY`));
        return !message.includes(KEY) && !message.includes(OTHER);
      },
    );
  });

  it('makes a key file that only its owner reads, with the first secret, and uses it from then on', () =>
    withFolder(async (folder) => {
      const path = join(folder, 'secrets.key');
      assert.throws(
        () => createSecretBox(undefined, path).open(`v1.00000000.${'A'.repeat(16)}.${'A'.repeat(22)}`, 'x'),
        /no key/,
      );
      const sealed = createSecretBox(undefined, path).seal('hunter2', 'x');
      assert.equal(statSync(path).mode & 0o777, 0o600);
      assert.equal(createSecretBox(undefined, path).open(sealed, 'x'), 'hunter2');
      assert.equal(createSecretBox(readFileSync(path, 'utf8').trim(), '/nowhere').open(sealed, 'x'), 'hunter2');
      writeFileSync(path, 'short');
      assert.throws(() => createSecretBox(undefined, path).seal('x', 'x'), /not 32 bytes/);
    }));
});
