import { z } from 'zod';
import { type Capsule, type CapsuleRecord, capsule, capsuleFields, capsuleStatus } from '../../resources/capsule.ts';
import { expectedRevision, instant, namePart, pageOf, paging, recordId, sortBy } from '../../resources/fields.ts';
import { refTo } from '../../resources/markers.ts';
import type { Readers } from '../../store/port.ts';
import { budgetSubjectsIn, madeBy } from '../core/access/budgets.ts';
import { capsuleCredential, capsuleRights, requireCredential } from '../core/access/credential.ts';
import { disconnectApps, disconnectAppsByToken } from '../core/access/end-credentials.ts';
import { hasRight, isOwn, listFilter } from '../core/access/ownership.ts';
import { endsWithKey } from '../core/access/principal.ts';
import { FORBIDDEN, ToolError } from '../core/errors.ts';
import type { Catalog } from '../core/registry/catalog-index.ts';
import type { Context } from '../core/registry/context.ts';
import { defineKind } from '../core/registry/define-kind.ts';
import { CREATES, DELETES, defineTool, READS, UPDATES } from '../core/registry/define-tool.ts';
import { listPage, textFilter } from '../core/registry/paging.ts';
import { futureInstant } from '../core/registry/validate.ts';
import { changedConstraints, requireDefinition } from './capsule-definition.ts';
import { newToken, tokensInGrace, withoutEarlier } from './tokens.ts';
import { warningsOf } from './verdicts.ts';

export const capsuleId = refTo('capsule', recordId).describe('Capsule id (`cap_…`), see list_capsules.');

export const capsuleAnswer = capsule.extend({
  warnings: z.array(z.string()).optional().describe('Entries and constraints that do nothing now, and why.'),
});
export const capsuleWithToken = capsuleAnswer.extend({
  token: z.string().describe('Bearer token of its endpoint. Keep it: it cannot be shown again.'),
});

export function showCapsule(record: CapsuleRecord): Capsule {
  const { token, graceTokens, tokenPrefixes: _, budgetSubjects: __, ...shown } = record;
  const earlierTokens = graceTokens.map(({ prefix, until }) => ({ prefix, until }));
  return { ...shown, tokenPrefix: token.prefix, ...(earlierTokens.length > 0 && { earlierTokens }) };
}

function showWithWarnings(record: CapsuleRecord, catalog: Catalog): z.input<typeof capsuleAnswer> {
  const warnings = warningsOf(record, catalog);
  return { ...showCapsule(record), ...(warnings.length > 0 && { warnings }) };
}

const listCapsules = defineTool({
  name: 'list_capsules',
  title: 'List capsules',
  description:
    'List capsules, newest first, with their tools, status and use. Tokens are never shown. Without admin rights: your own.',
  keywords:
    'partner tokens, access bundles, external clients, scoped MCP endpoints, who outside has access, which partners have access, all external tokens',
  access: { scope: 'admin', grant: 'capsule:read', narrows: true },
  annotations: READS,
  own: true,
  input: z.strictObject({
    name: capsuleFields.name.optional().describe('Exactly this name, which several capsules may have.'),
    q: namePart.describe('Part of the name, ignoring case.'),
    status: capsuleStatus.optional(),
    ...sortBy('name'),
    ...paging,
  }),
  output: pageOf(capsule),
  errors: [],

  handler({ name, q, status, ...page }, { store, principal }) {
    const any = listFilter<CapsuleRecord>(principal, 'capsule', { ownerId: principal.ownerId });
    return listPage(
      store.capsules,
      page,
      { where: { name, status }, any, part: textFilter<CapsuleRecord>(q, 'name') },
      showCapsule,
    );
  },
});

const getCapsule = defineTool({
  name: 'get_capsule',
  title: 'Get capsule',
  description: 'Read one capsule: tools, limits, use, and warnings about entries without effect. Never its token.',
  keywords: 'what a partner may use, token details, allowlist, usage of an external client',
  access: { scope: 'admin', grant: 'capsule:read:{id}' },
  annotations: READS,
  own: true,
  input: z.strictObject({ id: capsuleId }),
  output: capsuleAnswer,
  errors: ['not_found'],

  handler: async ({ id }, context) => showWithWarnings(await findCapsule(context, id, 'read'), context.server.catalog),
});

const createCapsule = defineTool({
  name: 'create_capsule',
  title: 'Create capsule',
  description:
    'Bundle tools within your rights into an MCP endpoint of its own for an external client. Returns the capsule and, this once, its `token`.',
  keywords:
    "give a partner limited access, external agent, contractor, scoped token, share tools with another company, restricted MCP endpoint, sandbox, least privilege, hand out a token, give an external partner limited access, let another company use some tools, partner access, token that can only read some things, access for a customer's agent",
  access: { scope: 'admin', grant: 'capsule:write' },
  annotations: CREATES,
  answersSecret: true,
  input: z.strictObject({
    name: capsuleFields.name,
    description: capsuleFields.description.optional(),
    allowedTools: capsuleFields.allowedTools.default([]),
    deniedTools: capsuleFields.deniedTools.default([]),
    status: capsuleFields.status.default('draft'),
    expiresAt: capsuleFields.expiresAt.optional(),
    callsPerMinute: capsuleFields.callsPerMinute.optional(),
    integrationAccounts: capsuleFields.integrationAccounts.optional(),
    constraints: capsuleFields.constraints.optional(),
    askFirst: capsuleFields.askFirst.optional(),
  }),
  output: capsuleWithToken,
  errors: [],

  async authorize({ expiresAt, ...input }, { store, principal, server: { catalog } }) {
    requireDefinition(input, catalog);
    const rights = { ...capsuleRights(input, catalog), lifetime: { expiresAt: expiresAt && instant(expiresAt) } };
    await requireCredential({ store, principal }, { way: 'make', rights });
  },

  async handler({ expiresAt: until, ...input }, { store, principal, server }) {
    const expiresAt = until === undefined ? undefined : futureInstant(until, server.now());
    const { secret, members } = newToken(server.now(), []);
    const record = await store.capsules.insert({
      ...input,
      ...members,
      ...(expiresAt !== undefined && { expiresAt }),
      ownerId: principal.ownerId,
      createdBy: principal.id,
      budgetSubjects: budgetSubjectsIn(principal),
      ...endsWithKey(principal),
      callCount: 0,
    });
    return { ...showWithWarnings(record, server.catalog), token: secret };
  },
});

export const capsuleChanges = {
  name: capsuleFields.name.optional(),
  description: capsuleFields.description.nullable().optional(),
  allowedTools: capsuleFields.allowedTools.optional(),
  deniedTools: capsuleFields.deniedTools.optional(),
  status: capsuleFields.status.optional(),
  expiresAt: capsuleFields.expiresAt.nullable().optional(),
  callsPerMinute: capsuleFields.callsPerMinute.nullable().optional(),
  integrationAccounts: capsuleFields.integrationAccounts.optional(),
  constraints: capsuleFields.constraints.nullable().optional(),
  askFirst: capsuleFields.askFirst.optional(),
};

const updateCapsule = defineTool({
  name: 'update_capsule',
  title: 'Update capsule',
  description:
    'Change fields of a capsule, within your rights and from the next request on; lists and constraints are replaced as a whole, null clears a limit. Returns it.',
  keywords:
    "widen or narrow a partner's tools, suspend a partner, pause an external client, change allowlist, expiry, cut off a partner for now, give a partner more tools, disable a capsule",
  access: { scope: 'admin', grant: 'capsule:write:{id}' },
  annotations: UPDATES,
  lasting: {
    what: 'credential',
    of: ({ id: _, endEarlierTokens: __, expectedRevision: ___, ...change }: Readonly<Record<string, unknown>>) =>
      changesWhatItDoes(change),
  },
  input: z.strictObject({
    id: capsuleId,
    ...capsuleChanges,
    endEarlierTokens: z
      .boolean()
      .optional()
      .describe('True: tokens that a rotation replaced, and apps connected with them, end at once.'),
    expectedRevision,
  }),
  output: capsuleAnswer,
  errors: ['not_found', 'conflict'],

  async authorize(
    { id, expectedRevision: _, endEarlierTokens: __, ...change },
    { store, principal, server: { catalog } },
  ) {
    const current = await store.capsules.get(id);
    if (!current) return;
    requireDefinition(
      { allowedTools: change.allowedTools ?? [], constraints: changedConstraints(current, change.constraints) },
      catalog,
    );
    const { expiresAt } = change;
    const { allowedTools = current.allowedTools, integrationAccounts = current.integrationAccounts } = change;
    const { askFirst = current.askFirst } = change;
    const lifetime = expiresAt === undefined ? undefined : { expiresAt: expiresAt ? instant(expiresAt) : undefined };
    const next = capsuleCredential({ ...current, allowedTools, integrationAccounts, askFirst }, catalog, lifetime);
    const credential = changesWhatItDoes(change) ? next : { rights: next.rights };
    await requireCredential({ store, principal }, { way: 'change', ...credential });
  },

  async handler({ id, expectedRevision, endEarlierTokens = false, ...change }, { store, server }) {
    const current = await store.capsules.read(id);
    const expiresAt = change.expiresAt && futureInstant(change.expiresAt, server.now());
    const ended = endEarlierTokens ? withoutEarlier(current) : {};
    const updated = await store.capsules.update(id, { ...change, ...ended, expiresAt }, { expectedRevision });
    if (endEarlierTokens) await disconnectAppsByToken(store, updated);
    return showWithWarnings(updated, server.catalog);
  },
});

const deleteCapsule = defineTool({
  name: 'delete_capsule',
  title: 'Delete capsule',
  description:
    'Delete a capsule for good: its endpoint, tokens and connected apps stop at once. Without admin rights: your own.',
  keywords:
    "remove a partner's access, revoke an external token, end a contractor's access, end a partner's access for good",
  access: { scope: 'admin', grant: 'capsule:delete:{id}' },
  annotations: DELETES,
  own: true,
  input: z.strictObject({ id: capsuleId, expectedRevision }),
  output: z.object({}),
  errors: ['not_found', 'conflict'],

  async handler({ id, expectedRevision }, context) {
    const { store } = context;
    await findCapsule(context, id, 'delete');
    await store.capsules.delete(id, { expectedRevision });
    await disconnectApps(store, { capsuleId: id });
    return {};
  },
});

const rotateCapsuleToken = defineTool({
  name: 'rotate_capsule_token',
  title: 'Rotate capsule token',
  description:
    'Give a capsule of your own a new token, returned this once; the old one and apps connected with it stop at once, or after graceSeconds. Somebody else’s: take_over.',
  keywords: "partner leaked the token, new token for an external client, regenerate, renew, partner's token leaked",
  access: { scope: 'admin', grant: 'capsule:write:{id}' },
  annotations: { ...DELETES, idempotentHint: false },
  answersSecret: true,
  input: z.strictObject({
    id: capsuleId,
    graceSeconds: z.int().min(0).max(604_800).default(0).describe('How long the old token still works.'),
    expectedRevision,
  }),
  output: capsuleWithToken,
  errors: ['not_found', 'conflict'],

  async authorize({ id }, { store, principal, server }) {
    const current = await store.capsules.get(id);
    if (!current) return;
    const credential = capsuleCredential(current, server.catalog, { expiresAt: current.expiresAt });
    await requireCredential({ store, principal }, { way: 'rotate', ...credential });
  },

  async handler({ id, graceSeconds, expectedRevision }, { store, principal, server }) {
    const current = await store.capsules.read(id);
    const now = server.now();
    const { secret, members } = newToken(now, tokensInGrace(current, now, graceSeconds));
    const { endsWith = null } = endsWithKey(principal);
    const budgetSubjects = [...new Set([...madeBy(current), ...budgetSubjectsIn(principal)])];
    const rotated = await store.capsules.update(
      id,
      { ...members, tokenUsedAt: null, endsWith, budgetSubjects },
      { expectedRevision },
    );
    await disconnectAppsByToken(store, rotated);
    return { ...showWithWarnings(rotated, server.catalog), token: secret };
  },
});

export const capsuleTools = [listCapsules, getCapsule, createCapsule, updateCapsule, deleteCapsule, rotateCapsuleToken];

/** The capsule, where the caller may do this to it or it is its own. @throws ToolError (not_found) */
async function findCapsule(
  { store, principal, fail }: Pick<Context<Pick<Readers, 'capsules'>, 'not_found'>, 'store' | 'principal' | 'fail'>,
  id: string,
  op: 'read' | 'delete',
): Promise<CapsuleRecord> {
  const capsule = await store.capsules.get(id);
  if (capsule && (isOwn(principal, capsule.ownerId) || hasRight(principal, 'capsule', op, id))) return capsule;
  throw fail('not_found', `There is no capsule ${id}; list_capsules shows the ones you can see.`);
}

/** Whether the change affects what the capsule does. Everybody who may write a capsule may rename it or stop serving it. */
function changesWhatItDoes({
  name: _,
  description: __,
  status,
  ...others
}: Partial<Record<keyof CapsuleRecord, unknown>>): boolean {
  return status === 'live' || Object.values(others).some((value) => value !== undefined);
}

export const capsuleKind = defineKind({
  type: 'capsule',
  collection: 'capsules',
  list: listCapsules,
  get: getCapsule,
  update: updateCapsule,
  event: 'none',

  authorizePurge(_id, { principal }) {
    if (principal.rights.allows({ scope: 'admin', needs: [{ resource: 'capsule', op: 'delete' }] })) return;
    // What manages capsules is out of reach for what they are made of.
    throw new ToolError('forbidden', FORBIDDEN, { required: { scope: 'admin', grant: 'capsule:delete' } });
  },

  purge: (id, { store }) => store.purge('capsules', id),
});
