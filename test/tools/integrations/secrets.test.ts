import assert from 'node:assert/strict';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { reencryptSecrets } from '../../../facade/launch/reencrypt-secrets.ts';
import { createSecretBox } from '../../../tools/core/sealing/secrets.ts';
import {
  type AccountSecrets,
  accountKey,
  openAccount,
  sealAccount,
} from '../../../tools/integrations/accounts/account-secrets.ts';
import { openedSecrets, sealedSecrets } from '../../../tools/model-providers/secrets.ts';
import { withFolder } from '../../support/child.ts';
import { anyCharacter, fc } from '../../support/property.ts';
import { openTestRegistry } from '../../support/registry.ts';

const KEY = Buffer.alloc(32, 7).toString('base64');
const OTHER = Buffer.alloc(32, 8).toString('hex');

describe('a secret box', () => {
  it('opens what it sealed, and shows nothing of it', () => {
    const box = createSecretBox([KEY], '/nowhere');
    fc.assert(
      fc.property(fc.string({ minLength: 1, unit: anyCharacter }), fc.string(), (text, place) => {
        const wellFormed = text.toWellFormed();
        const sealed = box.seal(wellFormed, place);
        assert.match(sealed, /^v1\.[0-9a-f]{8}\.[\w-]{16}\.[\w-]{22,}$/);
        assert.equal(box.open(sealed, place), wellFormed);
        assert.notEqual(box.seal(wellFormed, place), sealed);
      }),
    );
  });

  it('opens nothing at another place, and nothing that was changed', () => {
    const box = createSecretBox([KEY], '/nowhere');
    const sealed = box.seal('hunter2', 'int_1 env TOKEN');
    assert.throws(() => box.open(sealed, 'int_2 env TOKEN'), /changed/);
    assert.throws(() => box.open(`${sealed.slice(0, -2)}AA`, 'int_1 env TOKEN'), /changed/);
    assert.throws(() => box.open('hunter2', 'int_1 env TOKEN'), /not one that this server sealed/);
  });

  it('says which key it needs where it has another one, and neither of them', () => {
    const sealed = createSecretBox([KEY], '/nowhere').seal('hunter2', 'x');
    const keyId = sealed.split('.')[1] ?? '';
    assert.throws(
      () => createSecretBox([OTHER], '/nowhere').open(sealed, 'x'),
      ({ message }: Error) => {
        assert.match(message, new RegExp(`sealed with the key ${keyId}.*SECRETS_KEY`));
        return !message.includes(KEY) && !message.includes(OTHER);
      },
    );
  });

  it('opens with any of its keys, and seals anew with the first what a later one sealed', () => {
    const sealed = createSecretBox([KEY], '/nowhere').seal('hunter2', 'x');
    const both = createSecretBox([OTHER, KEY], '/nowhere');
    assert.equal(both.open(sealed, 'x'), 'hunter2');
    const anew = both.renew(sealed, 'x') ?? '';
    assert.equal(createSecretBox([OTHER], '/nowhere').open(anew, 'x'), 'hunter2');
    assert.equal(both.renew(anew, 'x'), undefined);
    assert.equal(both.renew(sealed, 'y'), undefined, 'what cannot be opened stays');
    assert.equal(createSecretBox([OTHER], '/nowhere').renew(sealed, 'x'), undefined);
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
      assert.equal(createSecretBox([readFileSync(path, 'utf8').trim()], '/nowhere').open(sealed, 'x'), 'hunter2');
      writeFileSync(path, `${OTHER}\n${KEY}\n`);
      assert.equal(createSecretBox(undefined, path).open(createSecretBox([KEY], '').seal('y', 'x'), 'x'), 'y');
      writeFileSync(path, 'short');
      assert.throws(() => createSecretBox(undefined, path).seal('x', 'x'), /not 32 bytes/);
    }));
});

describe('after a change of keys', () => {
  it('every sealed member is sealed anew, once, and nothing else about the records changes', async () => {
    const { store, close } = await openTestRegistry();
    const before = createSecretBox([KEY], '/nowhere');
    const after = createSecretBox([OTHER, KEY], '/nowhere');
    const accountSecrets = { tokens: { access_token: 'a' } } as AccountSecrets; // no more is looked at
    const ids = await store.transaction(async (tx) => {
      const made = await tx.integrations.insert({
        name: 'x',
        toolPrefix: 'x',
        transport: 'http',
        url: 'http://x.example',
        enabled: false,
        readOnlyTools: [],
        timeoutMs: 1000,
        approved: [],
        createdBy: 'usr_1',
      });
      const { id } = made;
      await tx.integrations.touch(id, {
        headers: { A: before.seal('one', `${id} headers A`), B: after.seal('two', `${id} headers B`) },
        oauth: { clientId: 'c', clientSecret: before.seal('three', `${id} oauth clientSecret`) },
      });
      const key = accountKey(id, 'usr_1');
      const account = await tx.integrationAccounts.insert({
        integrationId: id,
        userId: 'usr_1',
        key,
        status: 'connected',
        scopes: [],
        connectedAt: made.createdAt,
        sealed: sealAccount(before, key, accountSecrets),
      });
      return { integration: id, account: account.id };
    });
    assert.equal(await reencryptSecrets(store, after), 2);
    assert.equal(await reencryptSecrets(store, after), 0);
    const alone = createSecretBox([OTHER], '/nowhere');
    const { headers, oauth, revision } = await store.integrations.read(ids.integration);
    assert.equal(revision, 1);
    assert.equal(alone.open(headers?.A ?? '', `${ids.integration} headers A`), 'one');
    assert.equal(alone.open(headers?.B ?? '', `${ids.integration} headers B`), 'two');
    assert.equal(alone.open(oauth?.clientSecret ?? '', `${ids.integration} oauth clientSecret`), 'three');
    assert.deepEqual(openAccount(alone, await store.integrationAccounts.read(ids.account)), accountSecrets);
    await close();
  });

  it('of a model provider are sealed anew too, and open with the new key alone', async () => {
    const { store, close } = await openTestRegistry();
    const [before, after] = [createSecretBox([KEY], '/nowhere'), createSecretBox([OTHER, KEY], '/nowhere')];
    const id = 'mdp_01hzzzzzzzzzzzzzzzzzzzzzzz';
    const given = { apiKey: 'sk-of-the-lab', headers: { 'X-Team': 'hidden', 'X-Org': 'also hidden' } };
    const { apiKey, headers } = sealedSecrets(id, given, before) as { apiKey: string; headers: Record<string, string> }; // given
    await store.transaction((tx) =>
      tx.modelProviders.insert({ id, name: 'lab', kind: 'openai', enabled: true, createdBy: 'usr_1', apiKey, headers }),
    );
    assert.equal(await reencryptSecrets(store, after), 1);
    assert.equal(await reencryptSecrets(store, after), 0);
    const alone = createSecretBox([OTHER], '/nowhere');
    assert.deepEqual(openedSecrets(await store.modelProviders.read(id), alone), given);
    await close();
  });
});
