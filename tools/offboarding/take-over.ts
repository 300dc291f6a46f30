import { z } from 'zod';
import { apiKey } from '../../resources/api-key.ts';
import { capsule } from '../../resources/capsule.ts';
import { recordId } from '../../resources/fields.ts';
import { flow } from '../../resources/flow.ts';
import { orNameOf } from '../../resources/markers.ts';
import { endsWithKeyFor, nextSecret, showKey, stateOf } from '../api-keys.ts';
import { showCapsule } from '../capsules/capsules.ts';
import { newToken } from '../capsules/tokens.ts';
import { budgetSubjectsIn, keySubject } from '../core/access/budgets.ts';
import { capsuleCredential, keyCredential, requireCredential } from '../core/access/credential.ts';
import { disconnectAppsByToken, endMadeWith } from '../core/access/end-credentials.ts';
import { endsWithKey } from '../core/access/principal.ts';
import type { HistoryWriters } from '../core/history-writers.ts';
import type { CallerContext, Context } from '../core/registry/context.ts';
import { DELETES, defineTool } from '../core/registry/define-tool.ts';
import { requireRights } from '../flows/flow-definition.ts';
import { runAsOf } from '../flows/run-as.ts';
import { signatureOf } from '../flows/webhook-secret.ts';

const type = z.enum(['capsule', 'flow', 'key']);
const CAPSULE = { scope: 'admin', grant: 'capsule:write:{id}' } as const;
const FLOW = { scope: 'admin', grant: 'flow:write:{id}' } as const;
const KEY = { scope: 'admin', grant: 'key:write:{id}' } as const;

const LEFT = 'The token was kept: anybody who knows it can still use the capsule. rotate_capsule_token replaces it.';

const input = z.strictObject({
  type,
  id: orNameOf('flow', recordId.describe('See list_holdings; of a flow also its name.'), 'type'),
  expectedRevision: z.int().min(1).describe('Its current revision; another one is refused with `conflict`.'),
  token: z
    .enum(['keep', 'rotate'])
    .optional()
    .describe(
      'Required for a capsule. keep: its clients continue, and so can the person who leaves, if they know the token.',
    ),
});

const output = z.object({
  type,
  capsule: capsule.optional(),
  flow: flow.optional(),
  key: apiKey.optional(),
  secret: z.string().optional().describe('The new token of the capsule, or secret of the key; not shown again.'),
  warnings: z.array(z.string()),
});

const SECRET_KEPT =
  'The secret of its webhook was kept: anybody who knows it can still trigger the flow, which now acts for you. update_flow replaces it.';

const NO_ACCOUNTS =
  'It used the accounts of its owner at integrations and uses none now; update_capsule lets it use yours.';

type Taking = Context<HistoryWriters, 'not_found' | 'conflict'>;
type Wish = Pick<z.output<typeof input>, 'id' | 'expectedRevision' | 'token'>;
type TakeOverOutput = Promise<Omit<z.input<typeof output>, 'type'>>;

export const takeOver = defineTool({
  name: 'take_over',
  title: 'Take over',
  description:
    'Transfer another person’s capsule, flow or key to you, for example when they leave. You need every right it has; only an owner can take over from an owner. Endpoint, id and history stay. A key gets a new secret, and the sessions, links and expiring keys made with it end.',
  keywords:
    'offboarding, transfer ownership, hand over, reassign what an ex-employee had, inherit, change owner, hand over the things of somebody who left, move everything of a person to me, colleague left take his work',
  access: {
    among: [CAPSULE, FLOW, KEY],
    of: ({ type }: { readonly type?: unknown }) => (type === 'capsule' ? CAPSULE : type === 'flow' ? FLOW : KEY),
  },
  annotations: { ...DELETES, idempotentHint: false },
  answersSecret: true,
  input,
  output,
  errors: ['not_found', 'conflict'],

  async authorize({ type, id }, context) {
    await AUTHORIZE[type](id, context);
  },

  async handler({ type, ...wish }, context) {
    return { type, ...(await TAKERS[type](wish, context)) };
  },
});

const TAKERS: Readonly<Record<z.output<typeof type>, (wish: Wish, context: Taking) => TakeOverOutput>> = {
  capsule: takeCapsule,
  flow: takeFlow,
  key: takeKey,
};

/** Who takes something over must be able to do all it does. */
const AUTHORIZE: Readonly<Record<z.output<typeof type>, (id: string, context: CallerContext) => Promise<void>>> = {
  async capsule(id, { store, principal, server }) {
    const current = await store.capsules.get(id);
    if (!current) return;
    const credential = capsuleCredential(current, server.catalog, { expiresAt: current.expiresAt });
    await requireCredential({ store, principal }, { way: 'take-over', ...credential });
  },
  async flow(id, { store, principal, server }) {
    const current = await store.flows.get(id);
    if (current) await requireRights(principal, current, { store, catalog: server.catalog });
  },
  async key(id, { store, principal, server }) {
    const key = await store.apiKeys.get(id);
    if (!key) return;
    const credential = keyCredential(principal, key, server.catalog);
    await requireCredential({ store, principal }, { way: 'take-over', ...credential });
  },
};

async function takeCapsule(
  { id, expectedRevision, token }: Wish,
  { store, principal, server, fail }: Taking,
): TakeOverOutput {
  if (token === undefined) {
    const message =
      'Is required for a capsule; give keep, so that its clients go on, or rotate, where somebody else may know it.';
    throw fail('invalid_input', `token: ${message}`, { issues: [{ path: 'token', message }] });
  }
  const current = await store.capsules.read(id);
  const { ownerId } = principal;
  const { endsWith = null } = endsWithKey(principal);
  const next = token === 'rotate' ? newToken(server.now(), []) : undefined;
  // Knowing the token gives no access to the accounts of the new owner.
  const drops = current.integrationAccounts === 'owner' && current.ownerId !== ownerId;
  const budgetSubjects = budgetSubjectsIn(principal);
  const change = {
    ownerId,
    endsWith,
    budgetSubjects,
    ...(next && { ...next.members, tokenUsedAt: null }),
    ...(drops && { integrationAccounts: 'none' as const }),
  };
  const taken = await store.capsules.update(id, change, { expectedRevision });
  await disconnectAppsByToken(store, taken);
  return {
    capsule: showCapsule(taken),
    ...(next && { secret: next.secret }),
    warnings: [...(next ? [] : [LEFT]), ...(drops ? [NO_ACCOUNTS] : [])],
  };
}

async function takeFlow({ id, expectedRevision }: Wish, { store, principal }: Taking): TakeOverOutput {
  const current = await store.flows.read(id);
  const taken = await store.flows.update(id, { runAs: runAsOf(principal) }, { expectedRevision });
  const isKept = signatureOf(taken)?.secret !== undefined && current.runAs.id !== taken.runAs.id;
  return { flow: taken, warnings: isKept ? [SECRET_KEPT] : [] };
}

async function takeKey({ id, expectedRevision }: Wish, { store, principal, server, fail }: Taking): TakeOverOutput {
  const key = await store.apiKeys.read(id);
  const now = server.now();
  const state = stateOf(key, now);
  if (state !== 'active') throw fail('conflict', `This key is ${state}; make one of your own with create_api_key.`);
  const { secret, members } = nextSecret(key, now, 0);
  const bond =
    endsWithKey(principal).endsWith === undefined ? { endsWith: null } : await endsWithKeyFor(store, key, principal);
  await endMadeWith(store, key, now.toISOString());
  const budgetSubjects = budgetSubjectsIn(principal).filter((subject) => subject !== keySubject(id));
  const change = { ...members, ownerId: principal.ownerId, budgetSubjects, ...bond };
  const taken = await store.apiKeys.update(id, change, { expectedRevision });
  return { key: showKey(taken), secret, warnings: [] };
}
