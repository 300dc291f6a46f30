import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { OWNER } from '../../resources/admin-user.ts';
import { catalog } from '../../tools/catalog.ts';
import { findToken, tokenPrincipal } from '../../tools/core/access/capsule-principal.ts';
import { credentialStatus } from '../../tools/core/access/credential-status.ts';
import { findKey, keyPrincipal } from '../../tools/core/access/key-principal.ts';
import { endOf, type Principal, personPrincipal } from '../../tools/core/access/principal.ts';
import { reachesFully, rightsFingerprint, seesTool } from '../../tools/core/access/reach.ts';
import { roleIn } from '../../tools/core/access/visibility.ts';
import { findRunAs } from '../../tools/flows/run-as.ts';
import { holderOf } from '../../tools/integrations/accounts/account-holder.ts';
import { callsOf } from '../support/calls.ts';
import { rounds } from '../support/full.ts';
import { fc } from '../support/property.ts';
import { startTestServer } from '../support/server.ts';
import { signIn } from '../support/sign-in.ts';
import { forgetCounts } from '../support/store.ts';
import { writing } from '../support/writing.ts';

const server = await startTestServer({ RATE_LIMIT_PER_MINUTE: '100000' });
const { must, call } = callsOf(server);

/** The rights to manage everything that acts, and to do little else. */
const MANAGES = ['key', 'capsule', 'admin-user', 'session', 'app', 'webhook', 'flow', 'thread', 'agent'];
const ROLES = ['viewer', 'editor', 'owner'] as const;

/** What lets somebody act, now or later. */
type Held =
  | { readonly secret: string }
  | { readonly token: string }
  | { readonly personId: string }
  | { readonly flowId: string }
  | { readonly webhookId: string };

interface World {
  readonly people: readonly string[];
  readonly keys: readonly string[];
  readonly capsules: readonly string[];
  readonly flows: readonly string[];
  readonly threads: readonly string[];
  /** The credentials of the attackers, by who they are. */
  readonly attackers: Readonly<Record<(typeof ATTACKERS)[number], () => Promise<string>>>;
}

const ATTACKERS = [
  'a key that manages',
  'a key of an owner that manages',
  'a key that writes',
  'a key with full access',
  'a key with full access that ends',
  'a person with full access',
  'a limited person',
] as const;

let made = 0;
function count(): number {
  made += 1;
  return made;
}
const person = (more: object = {}) => must('create_admin_user', { email: `person-${count()}@example.com`, ...more });

/** An owner, an admin and a limited person, with what acts for them and a thread that only some of that sees. */
async function newWorld(): Promise<World> {
  const { ownerId } = (await must('list_api_keys', { limit: 1 })).data[0];
  const [member, weak] = [await person(), await person({ access: { scopes: [], grants: [...MANAGES, 'skill:read'] } })];
  const former = await person({ role: OWNER });
  await must('deactivate_admin_user', { id: former.id });
  const key = async (userId: string, rights: object) => {
    const { id, secret } = await must('create_api_key', { name: 'k', scopes: [], ...rights });
    // As if its person had made it: only the owner is signed in here.
    await writing(server.store).apiKeys.update(id, { ownerId: userId });
    return { id, secret };
  };
  const keys = [await key(ownerId, { scopes: ['admin'] }), await key(member.id, { scopes: ['admin'] })];
  keys.push(await key(weak.id, { grants: ['thread'] }), await key(member.id, { grants: ['thread'] }));
  const all = { allowedTools: ['get_thread', 'list_skills', 'delete_document'], status: 'live' };
  const capsules = [
    await must('create_capsule', { name: 'c', ...all, integrationAccounts: 'owner' }),
    await must('create_capsule', { name: 'c', ...all }),
    await must('create_capsule', { name: 'c', allowedTools: ['get_thread'], status: 'live' }, keys[1]?.secret),
  ];
  const steps = [{ id: 'a', tool: 'list_skills' }];
  const flows = [
    await must('create_flow', { name: 'f', steps }),
    await must('create_flow', { name: 'f' }, keys[1]?.secret),
  ];
  const threads = [await must('create_thread', { title: 't', visibility: 'restricted' })];
  const holders = [keys[0], keys[2], keys[3], capsules[0], capsules[2]].map((each) => each?.id ?? '');
  const entries = holders.map((id) => ({
    principal: { type: id.startsWith('key') ? 'api-key' : 'capsule', id },
    role: 'editor',
  }));
  for (const { id } of threads) await must('add_thread_access', { id, entries });
  const idsOf = (records: readonly { readonly id: string }[]) => records.map(({ id }) => id);
  return {
    people: [ownerId, member.id, weak.id, former.id],
    keys: idsOf(keys),
    capsules: idsOf(capsules),
    flows: idsOf(flows),
    threads: idsOf(threads),
    attackers: {
      'a key that manages': async () => (await key(member.id, { grants: MANAGES })).secret,
      'a key of an owner that manages': async () => (await key(ownerId, { grants: MANAGES })).secret,
      'a key that writes': async () => (await key(member.id, { scopes: ['write'] })).secret,
      'a key with full access': async () => (await key(member.id, { scopes: ['admin'] })).secret,
      'a key with full access that ends': async () =>
        (await key(member.id, { scopes: ['admin'], expiresAt: server.clock.in(3_600_000) })).secret,
      'a person with full access': () => signIn(server, member.email),
      'a limited person': () => signIn(server, weak.email),
    },
  };
}

const pick = <Item>(items: readonly Item[], at: number): Item => items[at % items.length] ?? assert.fail();

/** Calls that could yield a credential, or make one do more. */
const WAYS: readonly ((world: World, at: number, more: number) => Promise<[tool: string, input: object]>)[] = [
  async (_, at) => [
    'create_api_key',
    {
      name: 'n',
      ...pick(
        [
          { scopes: ['admin'] },
          { scopes: ['read'] },
          { scopes: [], grants: ['*'] },
          { scopes: [], grants: ['key', 'thread'] },
        ],
        at,
      ),
    },
  ],
  async ({ keys }, at, more) => ['rotate_api_key', { id: pick(keys, at), graceSeconds: more % 2 }],
  async ({ keys }, at) => ['take_over', await revised('key', pick(keys, at))],
  async ({ capsules }, at, more) => [
    'take_over',
    { ...(await revised('capsule', pick(capsules, at))), token: pick(['rotate', 'keep'], more) },
  ],
  async ({ flows }, at) => ['take_over', await revised('flow', pick(flows, at))],
  async (_, at) => [
    'create_capsule',
    {
      name: 'n',
      status: 'live',
      integrationAccounts: 'owner',
      allowedTools: pick([['*'], ['delete_document'], ['get_thread'], []], at),
    },
  ],
  async ({ capsules }, at, more) => [
    'update_capsule',
    {
      id: pick(capsules, at),
      ...pick(
        [{ allowedTools: ['*'] }, { integrationAccounts: 'owner' }, { status: 'live' }, { expiresAt: null }],
        more,
      ),
    },
  ],
  async ({ capsules }, at) => ['rotate_capsule_token', { id: pick(capsules, at) }],
  async ({ people }, at) => [
    'create_sign_in_link',
    { email: (await server.store.adminUsers.read(pick(people, at))).email },
  ],
  async (_, at) => [
    'create_admin_user',
    { email: `new-${count()}@example.com`, ...pick([{ role: OWNER }, {}, { access: { scopes: ['read'] } }], at) },
  ],
  async ({ people }, at, more) => [
    'update_admin_user',
    {
      id: pick(people, at),
      ...pick([{ role: OWNER }, { email: `taken-${count()}@example.com` }, { access: null }, { role: 'member' }], more),
    },
  ],
  async ({ people }, at) => ['reactivate_admin_user', { id: pick(people, at) }],
  async ({ threads, keys }, at) => [
    'add_thread_access',
    { id: pick(threads, at), entries: [{ principal: { type: 'api-key', id: pick(keys, at) }, role: 'owner' }] },
  ],
  async (_, at) => [
    'create_flow',
    {
      name: 'n',
      steps: [
        {
          id: 'a',
          tool: pick(['create_document', 'list_skills'], at),
          arguments: pick([{ title: 'x', content: '' }, {}], at),
        },
      ],
    },
  ],
  async ({ flows }, at) => ['update_flow', { id: pick(flows, at), steps: [{ id: 'b', tool: 'list_agents' }] }],
  async (_, at) => [
    'create_webhook',
    { name: 'n', target: { email: 'x@example.com' }, events: pick([['goal.created'], ['document.created']], at) },
  ],
  async (_, at) => [
    'create_agent',
    { name: `agent-${count()}`, displayName: 'A', tools: pick([['delete_document'], ['*'], ['list_agents']], at) },
  ],
];

async function revised(type: 'key' | 'capsule' | 'flow', id: string) {
  const record = await server.store[({ key: 'apiKeys', capsule: 'capsules', flow: 'flows' } as const)[type]].read(id);
  return { type, id, expectedRevision: record.revision };
}

// biome-ignore lint/suspicious/noExplicitAny: outputs of many tools
function heldBy(tool: string, output: any, input: any): Held[] {
  const secrets = [output.secret, output.token].filter((text) => typeof text === 'string');
  const held: Held[] = secrets.flatMap((text): Held[] =>
    text.startsWith('ak_') ? [{ secret: text }] : text.startsWith('cpt_') ? [{ token: text }] : [],
  );
  if (tool === 'create_admin_user' || (tool === 'update_admin_user' && input.email)) held.push({ personId: output.id });
  if (tool === 'create_flow' || (tool === 'update_flow' && input.steps)) held.push({ flowId: output.id });
  if (tool === 'take_over' && output.flow) held.push({ flowId: output.flow.id });
  if (tool === 'create_webhook') held.push({ webhookId: output.id });
  return held;
}

async function principalOf(held: Held): Promise<Principal | undefined> {
  const { store } = server;
  const parts = { catalog, now: server.clock.now() };
  if ('secret' in held) {
    const key = await findKey(store, held.secret);
    return key && keyPrincipal(store, key, parts.now);
  }
  if ('token' in held) {
    const token = await findToken(store, held.token);
    return token && tokenPrincipal(store, token, parts);
  }
  if ('personId' in held) {
    const user = await store.adminUsers.read(held.personId);
    return user.isActive ? personPrincipal(user) : undefined;
  }
  const acting =
    'flowId' in held
      ? await findRunAs((await store.flows.read(held.flowId)).runAs, store, parts)
      : await credentialStatus((await store.webhooks.read(held.webhookId)).owner, store, parts);
  return typeof acting === 'string' ? undefined : acting;
}

/** Whether a credential without an end of its own ends with another. */
async function endsWithAnother({ type, id }: Principal): Promise<boolean> {
  const record =
    type === 'api-key'
      ? await server.store.apiKeys.get(id)
      : type === 'capsule'
        ? await server.store.capsules.get(id)
        : undefined;
  return record?.endsWith !== undefined;
}

const known = new Map<string, readonly string[]>();

/** Looked up once for all principals that reach the same. */
function toolsOf(principal: Principal): readonly string[] {
  const reach = rightsFingerprint(principal);
  const found =
    known.get(reach) ??
    catalog.entries.flatMap(({ tool }) => [
      ...(seesTool(principal, tool) ? [`some ${tool.name}`] : []),
      ...(reachesFully(principal, tool) ? [`every ${tool.name}`] : []),
    ]);
  known.set(reach, found);
  return found;
}

/** All that a principal can do, as words that can be compared. */
async function abilitiesOf(principal: Principal, world: World): Promise<Set<string>> {
  const abilities = new Set(toolsOf(principal));
  for (const id of world.threads) {
    const role = roleIn(await server.store.threads.read(id), principal);
    for (const each of role ? ROLES.slice(0, ROLES.indexOf(role) + 1) : []) abilities.add(`${each} of ${id}`);
  }
  const holder = holderOf(principal);
  if (holder !== undefined) abilities.add(`accounts of ${await named(holder)}`);
  if (principal.rights.isAdmin && (await named(principal.ownerId)) === OWNER) abilities.add('rank of an owner');
  if (endOf(principal) === undefined && !(await endsWithAnother(principal))) abilities.add('no end');
  return abilities;
}

/** An owner, or which of the others. Who has full access can sign in all others, and so reaches their accounts. */
async function named(userId: string): Promise<string> {
  const { role } = await server.store.adminUsers.read(userId);
  return role === OWNER ? OWNER : userId;
}

const steps = fc.array(fc.record({ way: fc.nat(WAYS.length - 1), at: fc.nat(7), more: fc.nat(7), as: fc.nat(3) }), {
  minLength: 20,
  maxLength: 60,
  size: 'max',
});

describe('whatever is called, in whatever order', () => {
  let obtained = 0;

  for (const who of ATTACKERS) {
    it(`${who} comes by nothing that can do what it could not`, async () => {
      await fc.assert(
        fc.asyncProperty(steps, async (sequence) => {
          await forgetCounts(server.folder);
          const world = await newWorld();
          const secret = await world.attackers[who]();
          const attacker = await principalOfCaller(secret);
          const could = await abilitiesOf(attacker, world);
          const callers = [secret];
          const held: Held[] = [];
          const done: string[] = [];
          for (const { way, at, more, as } of sequence) {
            const [tool, input] = await (WAYS[way] ?? assert.fail())(world, at, more);
            const answer = await call(tool, input, pick(callers, as)).catch(() => undefined);
            done.push(`${tool} ${JSON.stringify(input)}: ${answer && 'output' in answer ? 'ok' : 'refused'}`);
            if (!answer || !('output' in answer)) continue;
            if (tool === 'create_sign_in_link') held.push({ personId: pick(world.people, at) });
            for (const each of heldBy(tool, answer.output, input)) {
              held.push(each);
              if ('secret' in each) callers.push(each.secret);
            }
            for (const each of held) {
              const principal = await principalOf(each);
              if (!principal) continue;
              obtained += 1;
              const can = await abilitiesOf(principal, world);
              const isAllowed = (ability: string) =>
                could.has(ability) ||
                (ability.startsWith('accounts of usr_') && attacker.rights.isAdmin) ||
                (ability === 'no end' && principal.type === 'session'); // a link's session ends with the key that made it
              const beyond = [...can].filter((ability) => !isAllowed(ability));
              assert.deepEqual(beyond, [], `${JSON.stringify(each)} after\n${done.join('\n')}`);
            }
          }
        }),
        // Nobody signs in more than 20 times a minute, also not to shrink what failed.
        who.includes('person') ? { numRuns: rounds(1, 8), endOnFailure: true } : { numRuns: rounds(1, 25) },
      );
    });
  }

  it('yields something to the strong among them, so that there is something to judge', () => {
    assert.ok(obtained > 0);
  });
});

async function principalOfCaller(secret: string): Promise<Principal> {
  if (secret.startsWith('ak_')) return (await principalOf({ secret })) ?? assert.fail();
  const { id } = await must('get_current_principal', {}, secret);
  return personPrincipal(await server.store.adminUsers.read(id));
}
