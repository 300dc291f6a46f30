import { z } from 'zod';
import {
  type Budget,
  type BudgetRecord,
  budget,
  budgetFields,
  budgetSubjectType,
  WORKSPACE_ID,
} from '../../resources/budget.ts';
import { expectedRevision, pageOf, paging, recordId } from '../../resources/fields.ts';
import { orAgentName, refTo } from '../../resources/markers.ts';
import type { Readers } from '../../store/port.ts';
import { isAboveWorkspace, limitsOn, personSubject, subjectKey } from '../core/access/budgets.ts';
import { listFilter } from '../core/access/ownership.ts';
import { ToolError } from '../core/errors.ts';
import type { CallerContext } from '../core/registry/context.ts';
import { defineKind } from '../core/registry/define-kind.ts';
import { CREATES, DELETES, defineTool, type Fail, READS, UPDATES } from '../core/registry/define-tool.ts';
import { listPage } from '../core/registry/paging.ts';
import { readSettings } from '../settings/settings.ts';
import { showState, stateAt } from './budget-state.ts';
import { namesOf } from './names.ts';
import { renewalAfter } from './periods.ts';

const WARN_AT = 0.8;

const budgetId = refTo('budget', recordId).describe('Budget id (`bud_…`), see list_budgets.');

const listBudgets = defineTool({
  name: 'list_budgets',
  title: 'List budgets',
  description:
    'List budgets, newest first, with what is used of each and when it renews. Without admin rights: your own.',
  keywords: 'spending limits, quotas, caps, which spending limits are set, how much budget is left',
  access: { scope: 'admin', grant: 'budget:read', narrows: true },
  annotations: READS,
  own: true,
  input: z.strictObject({
    subject: z
      .strictObject({
        type: budgetSubjectType,
        id: orAgentName(recordId, 'type').optional().describe('Id; of an agent also its name.'),
      })
      .optional()
      .describe('Budgets of this one only.'),
    ...paging,
  }),
  output: pageOf(budget),
  errors: [],

  async handler({ subject, ...page }, { store, principal, server, fail }) {
    const any = listFilter<BudgetRecord>(principal, 'budget', { subjectKey: personSubject(principal.ownerId) });
    const where = subject && { subjectKey: subjectKey(whole(subject, fail)) };
    const show = await shower(store, server.now());
    const { data, ...found } = await listPage(store.budgets, page, { where, any }, (record) => record);
    return { ...found, data: await Promise.all(data.map(show)) };
  },
});

const createBudget = defineTool({
  name: 'create_budget',
  title: 'Create budget',
  description:
    'Limit the calls, tokens or cost of a key, capsule, app, agent or person, or of the workspace, per day or month; what exceeds it is refused until the period ends. Counts from now on. Returns the budget.',
  keywords:
    'cap the costs, spending limit, quota, rate limit, maximum dollars per month, restrict consumption, nobody should spend more than, limit the costs of a bot, set a monthly limit, cap the costs',
  access: { scope: 'admin', grant: 'budget:write' },
  annotations: CREATES,
  input: z.strictObject({
    ...budgetFields,
    warnAt: budgetFields.warnAt.optional(),
    enabled: budgetFields.enabled.default(true),
  }),
  output: budget,
  errors: ['conflict'],

  async handler({ subject: given, measure, period, limit, warnAt = WARN_AT, enabled }, { store, server, fail }) {
    const subject = whole(given, fail);
    await requireSubject(store, subject, fail);
    requireWhole(measure, limit, fail);
    const { currency, timezone } = await readSettings(store);
    const key = `${subjectKey(subject)} ${measure} ${period}`;
    if ((await store.budgets.count({ where: { key } })) > 0) {
      const message = `There is a budget of ${measure} a ${period} for this ${subject.type} already; change it with update_budget.`;
      throw fail('conflict', message);
    }
    const now = server.now();
    const record = await store.budgets.insert({
      ...{ subject, measure, period, limit, warnAt, enabled, key, subjectKey: subjectKey(subject) },
      ...(measure === 'cost' && { currency }),
      used: 0,
      reservations: [],
      renewsAt: renewalAfter(now, period, timezone).toISOString(),
    });
    return (await shower(store, now))(record);
  },
});

const updateBudget = defineTool({
  name: 'update_budget',
  title: 'Update budget',
  description:
    'Change the limit of a budget, when it warns, or switch it off or on; never of one that limits you. What was used stays. Returns the budget.',
  keywords: 'raise or lower a spending limit, change a quota, more tokens, raise the monthly limit',
  access: { scope: 'admin', grant: 'budget:write:{id}' },
  annotations: UPDATES,
  input: z.strictObject({
    id: budgetId,
    limit: budgetFields.limit.optional(),
    warnAt: budgetFields.warnAt.optional(),
    enabled: budgetFields.enabled.optional(),
    expectedRevision,
  }),
  output: budget,
  errors: ['not_found', 'conflict'],

  authorize: ({ id }, context) => requireFree(id, context),

  async handler({ id, expectedRevision, ...change }, { store, server, fail }) {
    const current = await store.budgets.read(id);
    if (change.limit !== undefined) requireWhole(current.measure, change.limit, fail);
    const { currency } = await readSettings(store);
    const renewed = current.measure === 'cost' && change.limit !== undefined ? { currency } : {};
    // With another limit, reaching it is news again.
    const notice = change.limit === undefined && change.warnAt === undefined ? undefined : null;
    const updated = await store.budgets.update(id, { ...change, ...renewed, notice }, { expectedRevision });
    return (await shower(store, server.now()))(updated);
  },
});

const deleteBudget = defineTool({
  name: 'delete_budget',
  title: 'Delete budget',
  description: 'Delete a budget, so that it limits nothing any more; never one that limits you. Returns it.',
  keywords: 'remove a spending limit, lift a cap',
  access: { scope: 'admin', grant: 'budget:write:{id}' },
  annotations: DELETES,
  input: z.strictObject({ id: budgetId }),
  output: budget,
  errors: ['not_found'],

  authorize: ({ id }, context) => requireFree(id, context),

  async handler({ id }, { store, server }) {
    const show = await shower(store, server.now());
    return show(await store.budgets.delete(id));
  },
});

export const budgetTools = [listBudgets, createBudget, updateBudget, deleteBudget];

export const budgetKind = defineKind({
  type: 'budget',
  collection: 'budgets',
  list: listBudgets,
  update: updateBudget,
  event: {
    name: 'budget',
    words: 'A budget',
    also: { warned: 'reached the part of its limit at which it warns', reached: 'was used up' },
    // The change that gave the notice, and no later one.
    whichOf: ({ notice, revision }: BudgetRecord) => (notice?.revision === revision ? notice.level : undefined),
  },
});

async function shower(store: Readers, now: Date): Promise<(record: BudgetRecord) => Promise<Budget>> {
  const { timezone } = await readSettings(store);
  return async (record) => {
    const { key: _, subjectKey: __, reservations: ___, notice: ____, ...shown } = record;
    const { type, id } = record.subject;
    const state = stateAt(record, now, timezone);
    const named = (await namesOf(store, type, [id])).get(id);
    return { ...shown, subject: { type, id, ...named }, ...showState(record, state) };
  };
}

/** A caller limited by a budget may not lift it. @throws forbidden */
async function requireFree(id: string, { store, principal }: CallerContext): Promise<void> {
  const { subject } = (await store.budgets.get(id)) ?? {};
  if (!subject || (isAboveWorkspace(principal) && subject.type === 'workspace')) return;
  if (!limitsOn(principal).includes(subjectKey(subject))) return;
  if (subject.type === 'workspace') throw new ToolError('forbidden', LIMITS_ALL);
  const message = `This budget of the ${subject.type} ${subject.id} limits you too; somebody it does not limit can change it.`;
  throw new ToolError('forbidden', message);
}

const LIMITS_ALL =
  'This budget of the workspace limits you too; only a person who may do everything changes it, signed in themselves.';

/** The subject with its id, which the workspace needs not be given. */
function whole({ type, id }: GivenSubject, fail: Fail<never>): BudgetRecord['subject'] {
  const given = type === 'workspace' ? (id ?? WORKSPACE_ID) : id;
  if (given !== undefined && (type !== 'workspace' || given === WORKSPACE_ID)) return { type, id: given };
  const message = type === 'workspace' ? 'The workspace has no id; leave it out.' : `Give the id; see ${LISTS[type]}.`;
  throw fail('invalid_input', message, { issues: [{ path: 'subject.id', message }] });
}

type GivenSubject = Pick<BudgetRecord['subject'], 'type'> & { readonly id?: string | undefined };

function requireWhole(measure: BudgetRecord['measure'], limit: number, fail: Fail<never>): void {
  if (measure === 'cost' || Number.isInteger(limit)) return;
  const message = `A limit of ${measure} is a whole number; give ${Math.ceil(limit)}.`;
  throw fail('invalid_input', message, { issues: [{ path: 'limit', message }] });
}

const LISTS = {
  key: 'list_api_keys',
  capsule: 'list_capsules',
  app: 'list_connected_apps',
  agent: 'list_agents',
  person: 'list_admin_users',
} as const;

async function requireSubject(store: Readers, { type, id }: BudgetRecord['subject'], fail: Fail<never>): Promise<void> {
  if (type === 'workspace') return;
  const { apiKeys: key, capsules: capsule, connectedApps: app, agents: agent, adminUsers: person } = store;
  const readers = { key, capsule, app, agent, person };
  if (await readers[type].get(id)) return;
  const message = `There is no ${type} ${id}; ${LISTS[type]} shows them.`;
  throw fail('invalid_input', message, { issues: [{ path: 'subject.id', message }] });
}
