import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { catalog } from '../../../tools/catalog.ts';
import { budgetSubjectsIn } from '../../../tools/core/access/budgets.ts';
import { capsuleProblem, findToken, tokenPrincipal } from '../../../tools/core/access/capsule-principal.ts';
import { findKey, keyPrincipal } from '../../../tools/core/access/key-principal.ts';
import { hashSecret, newSecret, prefixOf } from '../../../tools/core/access/key-secret.ts';
import { endOf, type Principal, personPrincipal } from '../../../tools/core/access/principal.ts';
import { findRunAs, runAsOf } from '../../../tools/flows/run-as.ts';
import { prepareSettings } from '../../../tools/settings/defaults.ts';
import { SignInRefused } from '../../../tools/sign-in/id-token.ts';
import { currentKeys, Issuer, openKeys } from '../../../tools/sign-in/issuer.ts';
import { authenticateSession, earlier } from '../../../tools/sign-in/open-sessions.ts';
import { SignIn } from '../../../tools/sign-in/sign-in.ts';
import { closedAtEnd } from '../../support/at-end.ts';
import { rounds } from '../../support/full.ts';
import { fc } from '../../support/property.ts';
import { registryOn } from '../../support/registry.ts';
import { dataFolder, forgetCounts, openStoreIn, removeFolder } from '../../support/store.ts';
import { writing } from '../../support/writing.ts';

const HOUR = 3_600_000;
const PEOPLE = ['ada@example.com', 'bob@example.com', 'cy@example.com'];

let time = Date.parse('2026-03-01T12:00:00.000Z');
const now = () => new Date(time);
const inHours = (hours: number) => new Date(time + hours * HOUR).toISOString();
const visitor = () => ({ address: '127.0.0.1', requestId: 'chain' });

const folder = await dataFolder();
const store = await openStoreIn(folder, { now });
closedAtEnd(() => store.close().then(() => removeFolder(folder)));
await prepareSettings(store);
await store.transaction(async (tx) => {
  for (const email of PEOPLE) await tx.adminUsers.insert({ email, role: 'owner', isActive: true });
});

function logUnexpected(cause: unknown): void {
  if (!(cause instanceof SignInRefused)) console.error(cause);
}

/** A registry with counts of attempts of its own. */
async function newWorld() {
  await forgetCounts(folder);
  const issuer = new Issuer('http://localhost', openKeys(currentKeys(undefined, now())), now);
  const signIn = new SignIn({
    store,
    issuer,
    secrets: ['test'],
    baseUrl: 'http://localhost',
    now,
    onFailure() {},
    onLimited() {},
  });
  return { signIn, ...registryOn(store, { now, signIn }, logUnexpected) };
}
type World = Awaited<ReturnType<typeof newWorld>>;

/** Something that lets in, or could once be made to. */
interface Credential {
  readonly what: string;
  readonly keyId?: string;
  readonly userId: string;
  principal(): Promise<Principal | undefined>;
  /** Whether what it began with, still unused, opens something. */
  opens?(): Promise<boolean>;
}

async function rootKey(expiresAt: string | undefined): Promise<Credential> {
  const secret = newSecret('key');
  const { records } = await store.adminUsers.find({ where: { email: PEOPLE[0] ?? '' }, limit: 1 });
  const userId = records[0]?.id ?? '';
  const rights = { name: 'root', scopes: ['admin'], ownerId: userId, createdBy: userId };
  const key = await writing(store).apiKeys.insert({
    ...rights,
    prefix: prefixOf('key', secret) ?? '',
    hash: hashSecret(secret),
    ...(expiresAt !== undefined && { expiresAt }),
  });
  return { what: 'root', keyId: key.id, userId, principal: () => principalOf(secret) };
}

async function principalOf(secret: string): Promise<Principal | undefined> {
  const key = await findKey(store, secret);
  return key && keyPrincipal(store, key, now());
}

async function makeKey(world: World, maker: Principal, expiresAt: string | undefined): Promise<Credential> {
  const { id, secret, ownerId } = await world.must(maker, 'create_api_key', {
    name: 'chain',
    scopes: ['admin'],
    ...(expiresAt !== undefined && { expiresAt }),
  });
  return { what: 'key', keyId: id, userId: ownerId, principal: () => principalOf(secret) };
}

const tokenOf = (url: string) => new URL(url).searchParams.get('token') ?? '';

/** A session that a link or its ID token began, with another link that stays unused for now. */
async function makeSession(world: World, maker: Principal, email: string, byToken: boolean): Promise<Credential> {
  const link = await world.must(maker, 'create_sign_in_link', { email });
  const unused = await world.must(maker, 'create_sign_in_link', { email });
  const begin = async (idToken: string) =>
    world.registry.call({
      principal: { ...maker, tools: undefined } as unknown as Principal, // who calls does not count: the input says it
      tool: 'create_session',
      input: { idToken },
      door: 'rest',
      requestId: 'chain',
    });
  const opens = async () => {
    const answer = await begin(unused.idToken);
    const redeemed = await world.signIn.redeemLink(tokenOf(unused.url), undefined, visitor()).catch(() => undefined);
    return answer.ok || redeemed !== undefined;
  };
  const idToken = byToken ? link.idToken : await world.signIn.redeemLink(tokenOf(link.url), undefined, visitor());
  const answer = await begin(idToken);
  assert.ok(answer.ok && answer.began, JSON.stringify(answer));
  const { sessionId, ownerId } = answer.began;
  return { what: 'session', userId: ownerId, opens, principal: () => authenticateSession(store, sessionId, now()) };
}

/** A flow that one defines, as what acts when it runs. */
async function makeFlow(world: World, maker: Principal): Promise<() => Promise<boolean>> {
  const steps = [{ id: 'one', tool: 'list_agents' }];
  const { id } = await world.must(maker, 'create_flow', { name: 'chain', steps });
  return async () => {
    const flow = await store.flows.get(id);
    return flow !== undefined && typeof (await findRunAs(flow.runAs, store, { catalog, now: now() })) !== 'string';
  };
}

/** A capsule that one makes, as what its token opens. */
async function makeCapsule(world: World, maker: Principal, expiresAt: string): Promise<() => Promise<boolean>> {
  const { id } = await world.must(maker, 'create_capsule', { name: 'chain', status: 'live', expiresAt });
  return async () => {
    const capsule = await store.capsules.get(id);
    return capsule !== undefined && (await capsuleProblem(store, capsule, now())) === undefined;
  };
}

const links = fc.array(
  fc.record({
    kind: fc.constantFrom('key', 'session'),
    person: fc.nat(PEOPLE.length - 1),
    byToken: fc.boolean(),
    sooner: fc.integer({ min: 0, max: 30 }),
  }),
  { minLength: 1, maxLength: 5 },
);

describe('whatever is made with a credential that ends', () => {
  const chains = fc.record({
    links,
    minutes: fc.constantFrom(5, 9, 120, 700),
    ended: fc.nat(5),
    how: fc.constantFrom('expiry', 'revocation', 'deactivation'),
  });

  it('ends with it, however long the chain of keys, links, sessions and flows', async () => {
    const property = fc.asyncProperty(chains, async ({ links, minutes, ended, how }) => {
      const world = await newWorld();
      const end = inHours(minutes / 60);
      const chain = [await rootKey(end)];
      const leaves: (() => Promise<boolean>)[] = [];
      const bounded = (maker: Principal) => endOf(maker) ?? end;
      for (const { kind, person, byToken, sooner } of links) {
        const maker = await chain.at(-1)?.principal();
        assert.ok(maker);
        const capsule = await makeCapsule(world, maker, bounded(maker));
        const flow = await makeFlow(world, maker);
        leaves.push(async () => (await flow()) || (await capsule()));
        const until = new Date(Date.parse(end) - sooner * 1000).toISOString();
        const last = chain.findLast(({ keyId }) => keyId !== undefined);
        const bound = (last && (await store.apiKeys.get(last.keyId ?? ''))?.expiresAt) ?? end;
        if (kind === 'key') chain.push(await makeKey(world, maker, earlier(until, bound)));
        else chain.push(await makeSession(world, maker, PEOPLE[person] ?? '', byToken));
      }
      const keys = chain.flatMap(({ keyId }, index) => (keyId === undefined ? [] : [index]));
      const at = keys[ended % keys.length] ?? 0;
      const target = chain[at] ?? assert.fail();
      await finish(world, target, how, end);
      for (const [index, credential] of chain.entries()) {
        if (index < at) continue;
        assert.equal(await credential.principal(), undefined, `${index} ${credential.what}`);
        assert.notEqual(await credential.opens?.(), true, `the unused link of ${index}`);
        assert.equal((await leaves[index]?.()) ?? false, false, `the flow or capsule of ${index}`);
      }
      await revive();
    });
    await fc.assert(property, { numRuns: rounds(30, 300), endOnFailure: true });
  });

  async function finish(world: World, target: Credential, how: string, end: string): Promise<void> {
    if (how === 'expiry') time = Date.parse(end);
    else if (how === 'deactivation') await writing(store).adminUsers.update(target.userId, { isActive: false });
    else {
      const person = { type: 'session', id: 'usr_x', name: 'x', ownerId: 'usr_x', scopes: ['*'] } as const;
      const { rights } = (await rootKey(undefined).then(({ principal }) => principal())) ?? assert.fail();
      await world.must({ ...person, rights }, 'revoke_api_key', { id: target.keyId });
    }
  }

  async function revive(): Promise<void> {
    const { records } = await store.adminUsers.find({ where: { isActive: false }, limit: 10 });
    for (const { id } of records) await writing(store).adminUsers.update(id, { isActive: true });
  }

  it('is a capsule too, until a credential that does not end gives it another token', async () => {
    const world = await newWorld();
    const [ending, lasting] = [await rootKey(inHours(2)), await rootKey(undefined)];
    const [maker, other] = [await ending.principal(), await lasting.principal()];
    assert.ok(maker && other);
    const capsule = { name: 'c', status: 'live', expiresAt: inHours(1) };
    const { id } = await world.must(maker, 'create_capsule', capsule);
    const problem = async () => capsuleProblem(store, (await store.capsules.get(id)) ?? assert.fail(), now());
    assert.equal(await problem(), undefined);
    await world.must(other, 'revoke_api_key', { id: ending.keyId });
    assert.match((await problem()) ?? '', /ended with the API key that made it; rotate_capsule_token/);
    await world.must(other, 'rotate_capsule_token', { id });
    assert.equal(await problem(), undefined);
  });

  it('is refused where it could not end: a key without expiry, a later one, a capsule, an admin user', async () => {
    const world = await newWorld();
    const key = (await (await rootKey(inHours(2))).principal()) ?? assert.fail();
    const session = await (await makeSession(world, key, 'bob@example.com', true)).principal();
    const gone = await writing(store).adminUsers.insert({ email: 'gone@example.com', role: 'member', isActive: false });
    for (const maker of [key, session ?? assert.fail()]) {
      for (const [tool, input] of [
        ['create_api_key', { name: 'k', scopes: ['read'] }],
        ['create_api_key', { name: 'k', scopes: ['read'], expiresAt: inHours(3) }],
        ['create_capsule', { name: 'c', allowedTools: [] }],
        ['create_admin_user', { email: 'new@example.com' }],
        ['reactivate_admin_user', { id: gone.id }],
      ] as const) {
        const { code, issues } = await world.refused(maker, tool, input);
        assert.equal(code, 'forbidden', `${maker.type} ${tool}`);
        assert.match(
          issues?.[0]?.message ?? '',
          /your own credential ends at|outlive your own credential; give an expiresAt no later than/,
        );
      }
      await world.must(maker, 'create_capsule', { name: 'c', expiresAt: inHours(1) });
    }
  });
});

describe('the budgets of a key', () => {
  it('count for whatever was made with it, however long the chain of keys, links, sessions, flows and capsules', async () => {
    const world = await newWorld();
    const root = await rootKey(undefined);
    const subject = `key ${root.keyId}`;
    const countsFor = (principal: Principal | string | undefined) =>
      typeof principal === 'object' ? budgetSubjectsIn(principal) : assert.fail(principal);
    let maker = (await root.principal()) ?? assert.fail();
    for (const kind of ['session', 'key', 'key', 'session', 'session', 'key'] as const) {
      const made =
        kind === 'key'
          ? await makeKey(world, maker, undefined)
          : await makeSession(world, maker, PEOPLE[1] ?? '', false);
      maker = (await made.principal()) ?? assert.fail();
      assert.ok(countsFor(maker).includes(subject), made.what);
      const steps = [{ id: 'one', tool: 'list_agents' }];
      const { id } = await world.must(maker, 'create_flow', { name: 'chain', steps });
      const { runAs } = (await store.flows.get(id)) ?? assert.fail();
      const runs = await findRunAs(runAs, store, { catalog, now: now() });
      assert.ok(countsFor(runs).includes(subject), `the flow of the ${made.what}`);
      const { token } = await world.must(maker, 'create_capsule', { name: 'chain' });
      const shown = await findToken(store, token);
      const capsule = shown && (await tokenPrincipal(store, shown, { catalog, now: now() }));
      assert.ok(countsFor(capsule).includes(subject), `the capsule of the ${made.what}`);
    }
    const { records } = await store.adminUsers.find({ where: { email: PEOPLE[1] ?? '' }, limit: 1 });
    const person = records[0] ?? assert.fail();
    assert.deepEqual(countsFor(personPrincipal(person)), [`person ${person.id}`], 'of no key, only their own');
    assert.equal(runAsOf(personPrincipal(person)).budgetSubjects, undefined);
  });
});

describe('a key that never expires', () => {
  it('takes its links and their sessions with it when it is revoked; keys stand, so that it can be replaced', async () => {
    const world = await newWorld();
    const root = await rootKey(undefined);
    const key = (await root.principal()) ?? assert.fail();
    const session = await makeSession(world, key, 'bob@example.com', false);
    const person = (await session.principal()) ?? assert.fail();
    const made = [await makeKey(world, key, undefined), await makeKey(world, person, undefined)];
    const again = await makeSession(world, person, 'cy@example.com', true);
    await world.must(key, 'revoke_api_key', { id: root.keyId });
    for (const { principal, opens } of [session, again]) {
      assert.equal(await principal(), undefined);
      assert.equal(await opens?.(), false);
    }
    assert.equal(await store.sessions.count({ where: { keyId: root.keyId ?? '' } }), 0);
    for (const { principal } of made) assert.ok(await principal());
  });

  it('makes sessions that are watched: they stop while the owner of the key is deactivated', async () => {
    const world = await newWorld();
    const root = await rootKey(undefined);
    const session = await makeSession(world, (await root.principal()) ?? assert.fail(), 'bob@example.com', true);
    await writing(store).adminUsers.update(root.userId, { isActive: false });
    assert.equal(await session.principal(), undefined);
    await writing(store).adminUsers.update(root.userId, { isActive: true });
    assert.ok(await session.principal());
  });
});
