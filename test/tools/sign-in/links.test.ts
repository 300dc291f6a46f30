import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { beforeEach, describe, it } from 'node:test';
import { nodeFileSystem } from '../../../store/lowdb/files/file-system.ts';
import { ToolError } from '../../../tools/core/errors.ts';
import { prepareSettings } from '../../../tools/settings/defaults.ts';
import { currentKeys, Issuer, openKeys } from '../../../tools/sign-in/issuer.ts';
import { SignIn, type Visitor } from '../../../tools/sign-in/sign-in.ts';
import { closedAtEnd } from '../../support/at-end.ts';
import { pluck } from '../../support/pluck.ts';
import { dataFolder, forgetCounts, onPostgres, openStoreIn, removeFolder } from '../../support/store.ts';
import { writing } from '../../support/writing.ts';

const MINUTE = 60_000;
/** How often the store waited for the disk, which is what takes time. */
let syncs = 0;
async function openCounted(path: string) {
  const file = await nodeFileSystem.open(path);
  const sync = () => {
    syncs += 1;
    return file.sync();
  };
  return { ...file, sync };
}

/** There, each transaction waits once. */
function countTransactions(): void {
  const transaction = store.transaction.bind(store);
  store.transaction = (...call) => {
    syncs += 1;
    return transaction(...call);
  };
}

let time = Date.parse('2026-03-01T12:00:00.000Z');
const now = () => new Date(time);
let signIn: SignIn;
const log: string[] = [];
const limited: string[] = [];

const folder = await dataFolder();
const store = await openStoreIn(folder, {
  now,
  ...(!onPostgres && { files: { ...nodeFileSystem, open: openCounted } }),
});
closedAtEnd(() => store.close().then(() => removeFolder(folder)));
if (onPostgres) countTransactions();
await prepareSettings(store);
await store.transaction(async (tx) => {
  await tx.adminUsers.insert({ email: 'ada@example.com', role: 'owner', isActive: true });
  await tx.adminUsers.insert({ email: 'gone@example.com', role: 'member', isActive: false });
});
beforeEach(async () => {
  await forgetCounts(folder);
  log.length = 0;
  signIn = newSignIn();
});

/** A sign-in with its own counts of attempts. */
function newSignIn(): SignIn {
  return new SignIn({
    secrets: ['test'],
    store,
    issuer: new Issuer('http://localhost', openKeys(currentKeys(undefined, now())), now),
    baseUrl: 'http://localhost',
    now,
    onFailure: (cause) => void log.push(String(cause)),
    onLimited: (address) => void limited.push(address),
  });
}

function visitor(address = '127.0.0.1'): Visitor {
  return { address, requestId: randomUUID() };
}

const ask = (email: string, browser = 'browser', from = visitor()) => signIn.requestLink(email, browser, from);
const follow = (secret: string | undefined, browser: string | undefined = 'browser', from = visitor()) =>
  signIn.redeemLink(secret ?? '', browser, from);

async function entriesOf({ requestId }: Visitor) {
  await store.audit.flush();
  const { records } = await store.audit.find({ limit: 100 });
  return records
    .filter((entry) => entry.requestId === requestId)
    .map(({ tool, outcome, principal, arguments: args }) => ({ tool, outcome, type: principal.type, args }));
}

/** Refused with the one sentence, a denied entry and the reason in the log. */
async function refused(attempt: (from: Visitor) => Promise<unknown>, reason: RegExp) {
  const from = visitor();
  await assert.rejects(attempt(from), (error) => {
    assert.ok(error instanceof ToolError);
    assert.deepEqual([error.code, error.message], ['unauthenticated', 'Authentication required']);
    return true;
  });
  assert.match(log.at(-1) ?? '', reason);
  assert.deepEqual(await entriesOf(from), [{ tool: 'sign_in_redeem', outcome: 'denied', type: 'anonymous', args: {} }]);
}

describe('a sign-in link', () => {
  it('gives an ID token of the person who asked, whatever the case of the e-mail', async () => {
    const from = visitor();
    const secret = await ask('ADA@Example.com', 'browser', from);
    const idToken = await follow(secret);
    assert.equal((await signIn.issuer.verify(idToken)).email, 'ada@example.com');
    assert.deepEqual(await entriesOf(from), [
      { tool: 'sign_in_link', outcome: 'ok', type: 'anonymous', args: { email: 'ADA@Example.com' } },
    ]);
  });

  it('is kept as a hash, as is what it is bound to', async () => {
    const secret = (await ask('ada@example.com', 'my browser')) ?? '';
    const { records } = await store.signInLinks.find({ limit: 1 });
    assert.ok(secret.length >= 43);
    assert.doesNotMatch(JSON.stringify(records), new RegExp(`${secret}|my browser`));
  });

  it('works once, also for two who follow it at the same time', async () => {
    const secret = await ask('ada@example.com');
    const answers = await Promise.allSettled(Array.from({ length: 8 }, () => follow(secret)));
    assert.equal(answers.filter(({ status }) => status === 'fulfilled').length, 1);
    await refused((from) => follow(secret, 'browser', from), /used before/);
  });

  it('works for 10 minutes', async () => {
    const [first, second] = [await ask('ada@example.com'), await ask('ada@example.com')];
    time += 10 * MINUTE - 1000;
    await follow(first);
    time += 1000;
    await refused((from) => follow(second, 'browser', from), /expired/);
  });

  it('works in the browser that asked alone, and is not used up by another', async () => {
    const secret = await ask('ada@example.com', 'mine');
    await refused((from) => follow(secret, 'theirs', from), /another browser/);
    await refused((from) => signIn.redeemLink(secret ?? '', undefined, from), /another browser/);
    await follow(secret, 'mine');
  });

  it('made by an admin works in any browser', async () => {
    const { url, expiresAt } = await signIn.linkFor('Ada@example.com');
    assert.equal(Date.parse(expiresAt), time + 10 * MINUTE);
    const secret = new URL(url).searchParams.get('token') ?? '';
    await signIn.redeemLink(secret, undefined, visitor());
  });

  it('is refused where it was never made', () => refused((from) => follow('nothing', 'browser', from), /unknown/));
});

describe('asking for a link', () => {
  it('stores as much for an e-mail that nobody may sign in with, and gives nothing', async () => {
    for (const email of ['nobody@example.com', 'gone@example.com']) {
      const from = visitor();
      const before = await store.signInLinks.count({});
      assert.equal(await ask(email, 'browser', from), undefined);
      assert.equal(await store.signInLinks.count({}), before + 1);
      assert.deepEqual(pluck(await entriesOf(from), 'tool', 'outcome'), [['sign_in_link', 'denied']]);
    }
  });

  it('is for e-mails of the domains of the settings, where there are any', async () => {
    const { records } = await store.settings.find({ limit: 1 });
    const id = records[0]?.id ?? '';
    await writing(store).settings.update(id, { signInDomains: ['example.org'] });
    assert.equal(await ask('ada@example.com'), undefined);
    await writing(store).settings.update(id, { signInDomains: ['example.org', 'example.com'] });
    assert.ok(await ask('ada@example.com'));
    await writing(store).settings.update(id, { signInDomains: [] });
  });

  it('waits for the disk as often, whether somebody has the e-mail or not', async () => {
    const waits = async (email: string) => {
      await store.audit.flush();
      const before = syncs;
      await ask(email);
      return syncs - before;
    };
    const known = await waits('ada@example.com');
    assert.ok(known > 0);
    assert.deepEqual([await waits('nobody@example.com'), await waits('gone@example.com')], [known, known]);
  });

  it('refuses what is no e-mail', () => assert.rejects(ask('ada'), { code: 'invalid_input' }));
});

describe('attempts', () => {
  it('are 5 a minute for an e-mail from one address and 30 from all, whether somebody has it or not', async () => {
    const isLimited = (error: unknown) => {
      assert.ok(error instanceof ToolError && error.code === 'rate_limited');
      const { retryAfterSeconds = 0 } = error.detail;
      return retryAfterSeconds > 0 && retryAfterSeconds <= 60;
    };
    for (const email of ['ada@example.com', 'nobody@example.com']) {
      for (const host of [1, 2, 3, 4, 5, 6]) {
        for (let attempt = 0; attempt < 5; attempt += 1) await ask(email, 'browser', visitor(`10.0.0.${host}`));
        if (host === 1) await assert.rejects(ask(email.toUpperCase(), 'browser', visitor('10.0.0.1')), isLimited);
      }
      await assert.rejects(ask(email, 'browser', visitor('10.0.0.9')), isLimited);
    }
  });

  it('are 20 a minute for an address, IPv6 ones by their network', async () => {
    for (const [addresses, other] of [
      [['10.1.1.1', '::ffff:10.1.1.1'], '10.1.1.2'],
      [['2001:db8::1', '2001:db8::ffff:1', '2001:db8:0:0:5::'], '2001:db8:0:1::1'],
      [['1::2:3:4:5:6:7', '1:0:2:3::1'], '1:0:0:0::1'],
    ] as const) {
      for (let index = 0; index < 20; index += 1) {
        await assert.rejects(follow('x', 'b', visitor(addresses[index % addresses.length])), {
          code: 'unauthenticated',
        });
      }
      await assert.rejects(follow('x', 'b', visitor(addresses[0])), { code: 'rate_limited' });
      await assert.rejects(follow('x', 'b', visitor(other)), { code: 'unauthenticated' });
      assert.equal(limited.at(-1), addresses[0]);
    }
  });
});
