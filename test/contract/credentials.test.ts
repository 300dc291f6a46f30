import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { OWNER } from '../../resources/admin-user.ts';
import { catalog } from '../../tools/catalog.ts';
import { mayNeedFresh } from '../../tools/core/access/fresh-sign-in.ts';
import { type Access, ANYONE } from '../../tools/core/access/guarded-tool.ts';
import type { Tool } from '../../tools/core/registry/define-tool.ts';
import { callsOf, makeKey } from '../support/calls.ts';
import { serverForTests } from '../support/server.ts';
import { signIn } from '../support/sign-in.ts';

const CREDENTIALS = 'key capsule session admin-user passkey app oauth-client webhook integration model-provider'.split(
  ' ',
);

/** Whether the tool can answer a credential or move one: by its answer, by what it asks for, or by what it writes. */
function concernsCredentials(tool: Tool): boolean {
  const { access, annotations, session } = tool;
  if (annotations.readOnlyHint) return false;
  const choices: readonly Access[] = 'among' in access ? access.among : [access];
  const resources = choices.flatMap(({ grant }) => grant).map((text) => text.split(':')[0] ?? '');
  const writes = resources.some((resource) => CREDENTIALS.includes(resource));
  return Boolean(session || writes) || mayNeedFresh(tool) || choices.includes(ANYONE);
}

/** Whom and what there is to get at: a key, a capsule and a person, each of an owner. */
interface Victims {
  readonly key: string;
  readonly capsule: string;
  readonly flow: string;
  readonly owner: { readonly id: string; readonly email: string };
}

/** What a caller lacks: the rights of the credential, its entries in a restricted thread, the rank of its person. */
type Lack = 'rights' | 'entries' | 'rank';
interface Judged {
  readonly tool: string;
  readonly input: (victims: Victims) => object;
  readonly refusedWithout: readonly Lack[];
}

const ALL: readonly Lack[] = ['rights', 'entries', 'rank'];
const FLOW = { name: 'f', steps: [{ id: 'a', tool: 'delete_agent', arguments: { id: '{{ input.id }}' } }] };
const CAPSULE = { name: 'c', allowedTools: ['delete_agent'] };
/** Tools by which a credential is obtained, or does something else, and what each is refused without. */
const JUDGED: readonly Judged[] = [
  { tool: 'create_api_key', input: () => ({ name: 'k', scopes: ['admin'] }), refusedWithout: ['rights'] },
  { tool: 'rotate_api_key', input: ({ key }) => ({ id: key }), refusedWithout: ALL },
  { tool: 'take_over', input: ({ key }) => ({ type: 'key', id: key, expectedRevision: 1 }), refusedWithout: ALL },
  {
    tool: 'take_over',
    input: ({ capsule }) => ({ type: 'capsule', id: capsule, expectedRevision: 1, token: 'rotate' }),
    refusedWithout: ALL,
  },
  {
    tool: 'take_over',
    input: ({ flow }) => ({ type: 'flow', id: flow, expectedRevision: 1 }),
    refusedWithout: ['rights'],
  },
  { tool: 'create_flow', input: () => FLOW, refusedWithout: ['rights'] },
  {
    tool: 'update_flow',
    input: ({ flow }) => ({ id: flow, steps: [{ ...FLOW.steps[0], id: 'b' }] }),
    refusedWithout: ['rights'],
  },
  { tool: 'create_capsule', input: () => CAPSULE, refusedWithout: ['rights'] },
  {
    tool: 'update_capsule',
    input: ({ capsule }) => ({ id: capsule, status: 'live' }),
    refusedWithout: ['rights', 'entries'],
  },
  { tool: 'rotate_capsule_token', input: ({ capsule }) => ({ id: capsule }), refusedWithout: ALL },
  {
    tool: 'create_sign_in_link',
    input: ({ owner }) => ({ email: owner.email }),
    refusedWithout: ['rights', 'rank'],
  },
  {
    tool: 'create_admin_user',
    input: () => ({ email: 'new@example.com', role: OWNER }),
    refusedWithout: ['rights', 'rank'],
  },
  {
    tool: 'update_admin_user',
    input: ({ owner }) => ({ id: owner.id, email: 'mine@example.com' }),
    refusedWithout: ['rights', 'rank'],
  },
  { tool: 'reactivate_admin_user', input: ({ owner }) => ({ id: owner.id }), refusedWithout: ['rights', 'rank'] },
  {
    tool: 'create_oauth_client',
    input: () => ({ name: 'x', redirectUris: ['https://example.com/back'], confidential: true }),
    refusedWithout: ['rights'],
  },
];

/** The others, with the reason why nobody comes by a credential with them. */
const OTHERS: Readonly<Record<string, string>> = {
  revoke_api_key: 'ends',
  delete_capsule: 'ends',
  end_session: 'ends',
  delete_session: 'ends',
  deactivate_admin_user: 'ends',
  update_connected_app: 'it says what an app asks first, and whoever asks first cannot have it ask less',
  disconnect_app: 'ends',
  delete_oauth_client: 'ends',
  delete_passkey: 'ends',
  create_session: 'its input is the credential, which create_sign_in_link or a provider gave',
  confirm_session: 'its input is a credential of the same person',
  authorize_app: 'who is signed in hands out no more than they have',
  create_passkey: 'for the person who is signed in',
  restore_version: 'a flow or an agent of then is judged as one that is written now',
  undo_changes: 'the same',
  rename_passkey: 'its name alone, of one’s own',
  connect_integration: 'its link opens for the caller alone, signed in',
  create_integration: 'with secrets that the caller knows; its tools ask for rights of their own',
  update_integration: 'stored secrets are never answered, and sent nowhere else',
  delete_integration: 'ends',
  refresh_integration: 'it asks again which tools there are',
  create_model_provider: 'with a key that the caller knows',
  update_model_provider: 'stored secrets are never answered, and sent nowhere else',
  delete_model_provider: 'ends',
  test_model_provider: 'its key goes where it was given for, and what comes back opens nothing',
  create_webhook: 'its secret signs and opens nothing here; it hears of what its maker may read',
  update_webhook: 'from then on it hears of what the caller may read',
  rotate_webhook_secret: 'its secret signs and opens nothing here',
  delete_webhook: 'ends',
  test_webhook: 'it sends a message without content',
  retry_webhook_delivery: 'it sends again what was sent, by the rights of its owner',
  call_tool: 'it calls another tool, which judges',
};

const NAMES: Victims = {
  key: 'a key',
  capsule: 'a capsule',
  flow: 'a flow',
  owner: { id: 'an owner', email: 'an owner' },
};
const SAYS = { entries: /restricted threads/, rank: /owner/ };

const server = serverForTests();
const { must, refused } = callsOf(server);

describe('a tool that answers or moves credentials', () => {
  it('stands in one of the two tables', () => {
    const found = catalog.entries.map(({ tool }) => tool).filter(concernsCredentials);
    const judged = [...new Set(JUDGED.map(({ tool }) => tool))];
    assert.deepEqual(found.map(({ name }) => name).sort(), [...judged, ...Object.keys(OTHERS)].sort());
  });

  /** For each lack somebody who has all else, and what they try to get at. */
  const tried: Partial<Record<Lack, { readonly caller: string; readonly victims: Victims }>> = {};
  before(async () => {
    const owner = await must('create_admin_user', { email: 'owner@example.com', role: OWNER });
    const { email } = await must('create_admin_user', { email: 'admin@example.com' });
    const capsule = await must('create_capsule', CAPSULE);
    const flow = await must('create_flow', FLOW);
    const strong = await must('create_api_key', { name: 'k', scopes: ['admin'] });
    const shared = await must('create_api_key', { name: 'k', scopes: [], grants: ['agent:read'] });
    const { id } = await must('create_thread', { title: 't', visibility: 'restricted' });
    const holders = [
      { type: 'api-key', id: shared.id },
      { type: 'capsule', id: capsule.id },
    ];
    await must('add_thread_access', { id, entries: holders.map((principal) => ({ principal, role: 'viewer' })) });
    const manages = ['key', 'capsule', 'flow', 'admin-user', 'session', 'oauth-client'];
    const victims = { capsule: capsule.id, flow: flow.id, owner };
    tried.rights = { caller: await makeKey(server, { grants: manages }), victims: { ...victims, key: strong.id } };
    tried.rank = { caller: await signIn(server, email), victims: { ...victims, key: strong.id } };
    const sees = await makeKey(server, { grants: [...manages, 'agent', 'thread'] });
    tried.entries = { caller: sees, victims: { ...victims, key: shared.id } };
  });

  for (const { tool, input, refusedWithout } of JUDGED) {
    for (const lack of refusedWithout) {
      it(`is refused without the ${lack}: ${tool} ${JSON.stringify(input(NAMES))}`, async () => {
        const { caller, victims } = tried[lack] ?? assert.fail();
        const { code, issues } = await refused(tool, input(victims), caller);
        assert.equal(code, 'forbidden');
        if (lack !== 'rights') assert.match(issues?.[0]?.message ?? '', SAYS[lack]);
      });
    }
  }
});
