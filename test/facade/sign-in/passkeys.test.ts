import assert from 'node:assert/strict';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { Authenticator, type Lies } from '../../support/authenticator.ts';
import { callsOf, type RestAnswer, rest } from '../../support/calls.ts';
import { pluck } from '../../support/pluck.ts';
import { serverForTests, startTestServer } from '../../support/server.ts';
import { signIn } from '../../support/sign-in.ts';
import { WebClient } from '../../support/web-client.ts';
import { writing } from '../../support/writing.ts';

const server = serverForTests({ HOST: 'localhost', TRUSTED_PROXIES: 'loopback' });
const { must, refused } = callsOf(server);
const MINUTE = 60_000;

/** A browser that knows the sign-in page, at an address of its own. */
class TestBrowser {
  readonly client = new WebClient();
  readonly #address: string;
  #form = '';

  constructor(address: string) {
    this.#address = address;
  }

  async start(): Promise<this> {
    const { text } = await this.client.open(`${server.baseUrl}/sign-in`);
    this.#form = /name="form" value="([^"]*)"/.exec(text)?.[1] ?? '';
    return this;
  }

  get session(): string {
    return `admin-session=${this.client.cookies.get(server.baseUrl)?.get('admin-session')}`;
  }

  async ask(path: string, fields?: Readonly<Record<string, string>>): Promise<RestAnswer> {
    const headers = {
      Accept: 'application/json',
      Cookie: this.client.cookieHeader(server.baseUrl),
      'X-Forwarded-For': this.#address,
    };
    const body = fields && new URLSearchParams({ form: this.#form, ...fields });
    const response = await fetch(`${server.baseUrl}${path}`, {
      method: body ? 'POST' : 'GET',
      headers,
      ...(body && { body }),
    });
    return { status: response.status, headers: response.headers, body: await response.json() };
  }

  /** Sends what a passkey said as a form, as the sign-in page does. */
  submit(answer: string) {
    const body = new URLSearchParams({ form: this.#form, answer });
    return this.client.post('/sign-in/passkey', body, { 'X-Forwarded-For': this.#address });
  }

  async signInWith(authenticator: Authenticator, lies: Lies = {}) {
    return this.submit(authenticator.use((await this.ask('/sign-in/passkey')).body, lies));
  }
}

let browsers = 0;
function newBrowser(): Promise<TestBrowser> {
  browsers += 1;
  return new TestBrowser(`192.0.2.${browsers}`).start();
}

async function person(input: object = {}, by = server.adminKey) {
  const email = `person-${browsers}@example.com`;
  const { id } = await must('create_admin_user', { email, name: 'Ada', ...input });
  const browser = await newBrowser();
  const { url } = await must('create_sign_in_link', { email }, by);
  await browser.client.open(url);
  await browser.client.send();
  return { id, email, browser };
}

async function withPasskey(input: object = {}) {
  const ada = await person(input);
  const authenticator = new Authenticator(server.baseUrl);
  const answer = authenticator.make((await ada.browser.ask('/sign-in/passkey/new')).body);
  const { status, body } = await ada.browser.ask('/sign-in/passkey/new', { name: 'Laptop', answer });
  assert.equal(status, 201, JSON.stringify(body));
  return { ...ada, authenticator, passkey: body };
}

const lastReason = () => server.log.findLast(({ msg }) => msg === 'sign-in refused')?.reason;

describe('a passkey', () => {
  it('is added by who is signed in, and signs in in any browser, without a name', async () => {
    const { id, email, browser, authenticator, passkey } = await withPasskey();
    const { id: passkeyId, createdAt, updatedAt, revision, ...rest } = passkey;
    assert.deepEqual(rest, { userId: id, name: 'Laptop', isSynced: false });
    const { data } = await must('list_passkeys', {}, browser.session);
    assert.deepEqual(data, [passkey]);
    const other = await newBrowser();
    const { url, status } = await other.signInWith(authenticator);
    assert.deepEqual([url.pathname, status], ['/', 200]);
    assert.equal((await must('get_current_principal', {}, other.session)).email, email);
    assert.ok((await must('list_passkeys', {}, other.session)).data[0].lastUsedAt);
    const entries = (await must('list_audit_entries', { limit: 20 })).data;
    const told = entries.find(({ tool }: { tool: string }) => tool === 'sign_in_passkey');
    assert.deepEqual([told.outcome, told.arguments], ['ok', { email, passkeyId }]);
    const added = entries.find(({ tool }: { tool: string }) => tool === 'create_passkey');
    assert.deepEqual([added.principal.id, added.arguments.name], [id, 'Laptop']);
    assert.equal(JSON.stringify(entries).includes(authenticator.id), false);
    assert.deepEqual(
      [createdAt, revision].map((value) => typeof value),
      ['string', 'number'],
    );
    assert.equal(updatedAt, createdAt);
  });

  const strange = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
  const lies: Readonly<Record<string, readonly [Lies, RegExp]>> = {
    'another challenge': [{ challenge: randomBytes(54).toString('base64url') }, /not used as asked/],
    'another origin': [{ origin: 'https://evil.example' }, /not used as asked/],
    'another name': [{ rpId: 'evil.example' }, /not used as asked/],
    'nobody verified': [{ verifiesNobody: true }, /not used as asked/],
    'another key': [{ key: strange }, /signature/],
    'another person': [{ userHandle: Buffer.from('usr_other').toString('base64url') }, /somebody else/],
  };

  it('is refused alike with whatever is not as asked; the log says why', async () => {
    const { authenticator } = await withPasskey();
    for (const [what, [lie, reason]] of Object.entries(lies)) {
      const { status, heading, text } = await (await newBrowser()).signInWith(authenticator, lie);
      assert.deepEqual([status, heading], [401, 'This passkey does not sign you in'], what);
      assert.match(text, /removed here, or it took longer than 5 minutes/);
      assert.match(String(lastReason()), reason, what);
    }
    const stranger = await (await newBrowser()).signInWith(new Authenticator(server.baseUrl));
    assert.deepEqual([stranger.status, lastReason()], [401, 'the passkey is unknown here']);
    for (const answer of ['', '{', 'null', JSON.stringify({ id: 'x'.repeat(100) })]) {
      assert.equal((await (await newBrowser()).submit(answer)).status, 401, answer);
    }
  });

  it('is taken once, in the browser that was asked, within five minutes', async () => {
    const { authenticator } = await withPasskey();
    const [browser, other] = [await newBrowser(), await newBrowser()];
    const answer = authenticator.use((await browser.ask('/sign-in/passkey')).body);
    assert.equal((await other.submit(answer)).status, 401);
    const both = await Promise.all([browser.submit(answer), browser.submit(answer)]);
    assert.deepEqual(both.map(({ status }) => status).sort(), [200, 401]);
    assert.equal((await browser.submit(answer)).status, 401);
    const late = authenticator.use((await other.ask('/sign-in/passkey')).body);
    server.clock.pass(5 * MINUTE);
    assert.equal((await other.submit(late)).status, 401);
    assert.equal((await other.signInWith(authenticator)).status, 200);
  });

  it('that counts fewer uses than before may be a copy: it is refused, and says so to its holder alone', async () => {
    const { authenticator } = await withPasskey();
    authenticator.counter = 5;
    assert.equal((await (await newBrowser()).signInWith(authenticator)).status, 200);
    for (const counter of [6, 3, 0]) {
      const { status, text } = await (await newBrowser()).signInWith(authenticator, { counter });
      assert.equal(status, 401);
      assert.match(text, /somebody may have a copy of it/);
      assert.match(String(lastReason()), /counter of the passkey psk_\w+ went back/);
    }
    const forged = await (await newBrowser()).signInWith(authenticator, { counter: 3, key: strange });
    assert.doesNotMatch(forged.text, /copy/);
    authenticator.counter = 10;
    const browser = await newBrowser();
    assert.equal((await browser.signInWith(authenticator)).status, 200);
  });

  it('ends with its person, with the e-mail, and where that may not sign in any more', async () => {
    const gone = await withPasskey();
    await must('deactivate_admin_user', { id: gone.id });
    assert.equal((await (await newBrowser()).signInWith(gone.authenticator)).status, 401);
    await must('reactivate_admin_user', { id: gone.id });
    assert.deepEqual((await must('list_passkeys', { userId: gone.id })).data, []);
    assert.equal((await (await newBrowser()).signInWith(gone.authenticator)).status, 401);
    const moved = await withPasskey();
    await must('update_admin_user', { id: moved.id, name: 'Moved', role: 'other' });
    assert.equal((await must('list_passkeys', { userId: moved.id })).data.length, 1);
    await must('update_admin_user', { id: moved.id, email: `new-${moved.email}` });
    assert.deepEqual((await must('list_passkeys', { userId: moved.id })).data, []);
    const outside = await withPasskey();
    await must('update_settings', { signInDomains: ['example.org'] });
    assert.equal((await (await newBrowser()).signInWith(outside.authenticator)).status, 401);
    assert.equal(lastReason(), 'the person of the passkey may not sign in');
    await must('update_settings', { signInDomains: [] });
  });

  it('is named and removed by its person, removed by who has full access, and by nobody else', async () => {
    const ada = await withPasskey({ access: { scopes: ['read'] } });
    const bob = await person({ access: { scopes: ['read'] } });
    const { id } = ada.passkey;
    assert.deepEqual((await must('list_passkeys', {}, bob.browser.session)).data, []);
    for (const tool of ['rename_passkey', 'delete_passkey']) {
      const input = tool === 'rename_passkey' ? { id, name: 'Mine' } : { id };
      assert.equal((await refused(tool, input, bob.browser.session)).code, 'not_found', tool);
    }
    assert.equal((await refused('rename_passkey', { id, name: 'Theirs' })).code, 'not_found');
    assert.equal((await must('rename_passkey', { id, name: 'Phone' }, ada.browser.session)).name, 'Phone');
    const removed = await must('delete_passkey', { id });
    assert.deepEqual([removed.name, removed.publicKey], ['Phone', undefined]);
    assert.equal((await (await newBrowser()).signInWith(ada.authenticator)).status, 401);
    const owner = await withPasskey({ role: 'owner' });
    const admin = await signIn(server, (await person({ role: 'admin' })).email);
    assert.match(
      JSON.stringify(await refused('delete_passkey', { id: owner.passkey.id }, admin)),
      /only another owner/,
    );
    assert.equal((await must('delete_passkey', { id: owner.passkey.id }, owner.browser.session)).id, owner.passkey.id);
  });

  it('confirms that it is still its person, in the session of that person alone', async () => {
    const [ada, bob] = [await withPasskey(), await withPasskey()];
    server.clock.pass(10 * MINUTE);
    const { session } = ada.browser;
    assert.deepEqual((await refused('create_api_key', { name: 'x', scopes: ['read'] }, session)).required, {
      freshSignIn: true,
    });
    const confirm = async (authenticator: Authenticator, path = '/sign-in/passkey/confirm') => {
      const asked = await ada.browser.ask(path);
      return ada.browser.ask('/sign-in/passkey/confirm', { answer: authenticator.use(asked.body) });
    };
    assert.deepEqual(pluck((await ada.browser.ask('/sign-in/passkey/confirm')).body.allowCredentials, 'id'), [
      ada.authenticator.id,
    ]);
    assert.equal((await confirm(bob.authenticator)).status, 401);
    assert.equal((await confirm(ada.authenticator, '/sign-in/passkey')).status, 401);
    await refused('create_api_key', { name: 'x', scopes: ['read'] }, session);
    const { status, body } = await confirm(ada.authenticator);
    assert.equal(status, 200);
    assert.ok(body.freshUntil > server.clock.in(9 * MINUTE));
    await must('create_api_key', { name: 'x', scopes: ['read'] }, session);
    assert.equal((await (await newBrowser()).ask('/sign-in/passkey/confirm')).status, 401);
  });
});

describe('adding a passkey', () => {
  it('needs a fresh sign-in, before the browser makes it and after', async () => {
    const { browser } = await person();
    const answer = new Authenticator(server.baseUrl).make((await browser.ask('/sign-in/passkey/new')).body);
    server.clock.pass(10 * MINUTE);
    const refusals = [
      await browser.ask('/sign-in/passkey/new'),
      await browser.ask('/sign-in/passkey/new', { name: 'x', answer }),
    ];
    for (const { status, body } of refusals) assert.deepEqual([status, body.required], [403, { freshSignIn: true }]);
    assert.equal((await (await newBrowser()).ask('/sign-in/passkey/new')).status, 401);
  });

  it('takes what this person made in this browser, as asked, once, and at most twenty', async () => {
    const [ada, bob] = [await withPasskey(), await person()];
    const { browser } = ada;
    const asked = async () => (await browser.ask('/sign-in/passkey/new')).body;
    assert.deepEqual(pluck((await asked()).excludeCredentials, 'id'), [ada.authenticator.id]);
    const add = (answer: string, at = browser) => at.ask('/sign-in/passkey/new', { name: 'x', answer });
    const made = async (lies: Lies) => new Authenticator(server.baseUrl).make(await asked(), lies);
    for (const lie of [
      { origin: 'https://evil.example' },
      { rpId: 'evil.example' },
      { verifiesNobody: true },
      { challenge: 'eA' },
    ]) {
      const { status, body } = await add(await made(lie));
      assert.deepEqual([status, body.code], [400, 'invalid_input'], JSON.stringify(lie));
    }
    assert.equal((await add('{}')).status, 400);
    const good = await made({});
    assert.equal((await add(good, bob.browser)).status, 400);
    const both = await Promise.all([add(good), add(good)]);
    assert.deepEqual(both.map(({ status }) => status < 300).sort(), [false, true]);
    const same = ada.authenticator.make(await asked());
    assert.deepEqual((await add(same)).body.code, 'conflict');
    const [record] = (await server.store.passkeys.find({ where: { userId: ada.id }, limit: 1 })).records;
    assert.ok(record);
    for (let count = 2; count < 20; count += 1) {
      const { id: _, createdAt: __, updatedAt: ___, revision: ____, ...members } = record;
      await writing(server.store).passkeys.insert({ ...members, credentialId: `more-${count}` });
    }
    assert.match((await add(await made({}))).body.error, /20 passkeys/);
  });

  it('is refused in a session that an expiring key began, after which it would stay', async () => {
    const expiresAt = server.clock.in(60 * MINUTE);
    const { secret } = await must('create_api_key', { name: 'x', scopes: ['admin'], expiresAt });
    const { browser } = await person({}, secret);
    const refusals = [
      await browser.ask('/sign-in/passkey/new'),
      await browser.ask('/sign-in/passkey/new', { name: 'x', answer: '{}' }),
    ];
    for (const { status, body } of refusals) {
      assert.equal(status, 403);
      assert.match(JSON.stringify(body.issues), /your own credential ends at/);
    }
  });

  it('is left to the page: no door of the API knows it', async () => {
    const { email } = await person();
    const input = { name: 'x', answer: '{}', browser: 'x' };
    const message = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'create_passkey', arguments: input },
    };
    const { body } = await rest(server, 'POST', '/api/v1/mcp', { key: await signIn(server, email), body: message });
    assert.match(JSON.stringify(body), /no tool with this name/);
  });

  it('is not possible at an address without a name, and says so', async () => {
    const here = await startTestServer();
    const cookie = await signIn(here);
    const headers = { Accept: 'application/json', Cookie: cookie };
    const ask = async (path: string) => (await rest(here, 'GET', path, { headers })).body;
    assert.match((await ask('/sign-in/passkey/new')).error, /127\.0\.0\.1 is an address: set BASE_URL/);
    assert.match((await ask('/sign-in/state')).passkeyProblem, /set BASE_URL/);
  });
});

describe('the sign-in page', () => {
  it('offers passkeys where somebody has one, by a script of this server and no other', async () => {
    await withPasskey();
    const { text, headers } = await (await newBrowser()).client.open('/sign-in');
    assert.match(text, /<form id="passkey" [^>]*hidden>/);
    assert.match(text, /autocomplete="username webauthn"/);
    const [, script = ''] = /<script type="module" src="([^"]+)">/.exec(text) ?? [];
    assert.equal(
      (await fetch(`${server.baseUrl}${script}`)).headers.get('Content-Type'),
      'text/javascript; charset=utf-8',
    );
    const policy = headers.get('Content-Security-Policy') ?? '';
    assert.match(
      policy,
      /^default-src 'none'; .*; script-src 'self'; connect-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'$/,
    );
  });

  it('limits tries with passkeys as those by other ways', async () => {
    const browser = await newBrowser();
    const statuses: number[] = [];
    for (let tries = 0; tries < 21; tries += 1) statuses.push((await browser.submit('{}')).status);
    assert.deepEqual([...new Set(statuses)], [401, 429]);
    assert.equal(statuses.indexOf(429), 20);
  });
});
