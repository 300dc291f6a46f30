import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { type Approval, type ApprovalRecord, approval, approvalStatus, note } from '../../resources/approval.ts';
import { pageOf, paging, plainLine, recordId } from '../../resources/fields.ts';
import { refTo } from '../../resources/markers.ts';
import type { Where } from '../../store/port.ts';
import { ANYONE } from '../core/access/guarded-tool.ts';
import { capsuleIn, type Principal } from '../core/access/principal.ts';
import { seesTool } from '../core/access/reach.ts';
import { ToolError } from '../core/errors.ts';
import type { VisibilityContext } from '../core/kind.ts';
import { approvalPage, callerKeyOf, ENDS } from '../core/registry/approvals.ts';
import type { CallerContext } from '../core/registry/context.ts';
import { defineKind } from '../core/registry/define-kind.ts';
import { CREATES, defineTool, READS } from '../core/registry/define-tool.ts';
import { filteredReader, listPage } from '../core/registry/paging.ts';
import {
  canAnybodyDecide,
  decidableBy,
  deciderIn,
  isOwnApproval,
  isVisible,
  linkProblem,
  requireDecider,
} from './approval-deciders.ts';
import { isEnded, showApproval, showToCaller, statusOf } from './approval-view.ts';

const approvalId = refTo('approval', recordId).describe(
  'Approval id (`apv_…`), from `approval_required` or list_approvals.',
);

/** Names the list only to who may call it. */
function whereToLook({ principal, server }: Pick<CallerContext, 'principal' | 'server'>): string {
  const lists = server.catalog.get('list_approvals')?.tool;
  return lists && seesTool(principal, lists) ? 'list_approvals shows the ones you can see' : 'check the id';
}

/** @throws ToolError (not_found) */
async function findApproval(id: string, showing: CallerContext): Promise<ApprovalRecord> {
  const { store, principal, server } = showing;
  const found = await store.approvals.get(id);
  if (found && (await isVisible(found, principal, { store, ...server }))) return found;
  throw new ToolError('not_found', `There is no approval ${id} that you may see; ${whereToLook(showing)}.`);
}

const listApprovals = defineTool({
  name: 'list_approvals',
  title: 'List approvals',
  description:
    'List calls that wait for approval, and those already decided, newest first: your own, and with approval:decide those you may decide.',
  keywords:
    'pending requests, human in the loop, sign-off, confirmation queue, what waits for me, four eyes, review queue, approve an action of an agent',
  access: { scope: 'approvals:read', grant: 'approval:read' },
  annotations: READS,
  neverAsks: true,
  own: true,
  input: z.strictObject({
    status: approvalStatus.optional(),
    principalId: z.string().max(200).optional().describe('Who asked.'),
    tool: z.string().max(200).optional(),
    decidable: z.boolean().optional().describe('True: only those that wait and that you may decide.'),
    ...paging,
  }),
  output: pageOf(approval),
  errors: [],

  async handler({ status: asked, principalId, tool, decidable = false, ...page }, context) {
    const { store, principal, server } = context;
    const status = asked ?? (decidable ? 'waiting' : undefined);
    const where = { askedBy: principalId, tool, status: status && KEPT_AS[status] };
    const query = { where, any: ownOf(principal), filter: { status: asked, decidable } };
    const maySee = decidable ? await decidableBy(context) : sightOf(principal, { store, ...server });
    const holds = async (record: ApprovalRecord) => {
      const now = statusOf(record, context);
      if ((status !== undefined && now !== status) || (decidable && now !== 'waiting')) return false;
      return (await maySee?.(record)) ?? true;
    };
    const seen = status || maySee ? filteredReader(store.approvals, holds) : store.approvals;
    return listPage(seen, page, query, (record) => {
      const { grants: _, ...shown } = showApproval(record, { principal, server });
      return shown;
    });
  },
});

/** By the status that is shown, those that records are kept with. */
const KEPT_AS: Readonly<Record<Approval['status'], readonly ApprovalRecord['status'][]>> = {
  waiting: ['waiting'],
  approved: ['approved'],
  running: ['running'],
  done: ['done'],
  rejected: ['rejected'],
  failed: ['failed'],
  unknown: ['unknown'],
  expired: ['waiting', 'approved', 'expired'],
};

/** What a caller who decides nothing asked for. Undefined for one who decides. A key reads those of agents that it runs by their ids. */
function ownOf(principal: Principal): Where<ApprovalRecord>[] | undefined {
  if (deciderIn(principal)) return undefined;
  const own = { callerKey: callerKeyOf(principal) };
  return principal.rights.isPerson ? [own, { persons: principal.ownerId }] : [own];
}

/** Finds out what a caller who decides sees of all approvals. Undefined where it needs no finding out. */
function sightOf(principal: Principal, seeing: VisibilityContext) {
  const decider = deciderIn(principal);
  if (!decider || decider.rights.isAdmin) return undefined;
  return (record: ApprovalRecord) => isVisible(record, principal, seeing);
}

const getApproval = defineTool({
  name: 'get_approval',
  title: 'Get approval',
  description:
    'Read one call that waits for a person or was decided: tool, masked arguments, what it would change, who decided, and for its caller what it answered.',
  keywords: 'was it approved, state of a request, who approved, why rejected, result of an approved call',
  access: ANYONE,
  annotations: READS,
  neverAsks: true,
  input: z.strictObject({ id: approvalId }),
  output: approval,
  errors: ['not_found'],

  async handler({ id }, context) {
    const record = await findApproval(id, context);
    return { ...(await showToCaller(record, context)), ...(await whoDecides(record, context)) };
  },
});

/** Whether the caller may decide it, and else whether anybody may. */
async function whoDecides(
  record: ApprovalRecord,
  showing: CallerContext,
): Promise<Pick<Approval, 'mayDecide' | 'whyNot' | 'undecidable'>> {
  if (statusOf(record, showing) !== 'waiting') return {};
  const mayDecide = await (await decidableBy(showing))(record);
  if (mayDecide) return { mayDecide };
  const { principal } = showing;
  if (capsuleIn(principal)) return { mayDecide };
  const whyNot = await linkProblem(record, showing);
  if (whyNot !== undefined) return { mayDecide, whyNot };
  return { mayDecide, ...(!(await canAnybodyDecide(record, showing)) && { undecidable: true }) };
}

const decideApproval = defineTool({
  name: 'decide_approval',
  title: 'Decide approval',
  description:
    'Approve or reject a call that waits for a person. Approved, it runs once with the rights its caller has then. Only for somebody independent of the caller who may make the call too.',
  keywords: 'approve, reject, deny, sign off, say yes, allow a pending call, decline a request',
  access: { scope: 'admin', grant: 'approval:decide' },
  annotations: { ...CREATES, destructiveHint: true },
  forPeople: true,
  input: z.strictObject({
    id: approvalId,
    decision: z.enum(['approve', 'reject']),
    note: plainLine(note).optional().describe('The caller reads it.'),
  }),
  output: approval,
  errors: ['not_found', 'conflict'],

  async authorize({ id }, { store, principal, server }) {
    const record = await store.approvals.get(id);
    // What has ended is told to whoever sees it, and was decided by its arguments, which are no longer kept.
    if (record && isEnded(record.status)) await findApproval(id, { store, principal, server });
    else if (record) await requireDecider(record, { store, principal, server });
  },

  async handler({ id, decision, note: said }, { store, principal, server, fail }) {
    const record = await store.approvals.read(id);
    const status = statusOf(record, { server });
    if (status === 'expired')
      throw fail('conflict', `The approval expired at ${record.expiresAt}; its caller can ask anew.`);
    if (status !== 'waiting') {
      const by = record.decidedBy ? ` by ${record.decidedBy.name}` : '';
      throw fail('conflict', `The approval is decided${by}: it is ${status}.`);
    }
    const decided = await store.approvals.update(id, {
      status: decision === 'approve' ? 'approved' : 'rejected',
      decidedBy: { type: principal.type, id: principal.id, name: principal.name },
      decidedAt: server.now().toISOString(),
      decidedIn: record.revision + 1,
      ...(decision === 'reject' && ENDS),
      ...(said !== undefined && { note: said }),
    });
    return showApproval(decided, { principal, server });
  },
});

const LOOK_MS = 250;

const waitForApproval = defineTool({
  name: 'wait_for_approval',
  title: 'Wait for approval',
  description:
    'Wait up to 60 seconds until your own call that waits for a person was decided and has run. Returns the approval, with the answer of the call once there is one.',
  keywords: 'wait until approved, poll a pending request, block until somebody decides',
  access: ANYONE,
  annotations: READS,
  neverAsks: true,
  input: z.strictObject({ id: approvalId, seconds: z.int().min(0).max(60).default(30) }),
  output: approval,
  errors: ['not_found'],

  async handler({ id, seconds }, context) {
    const { store, principal, server, signal } = context;
    const until = performance.now() + seconds * 1000;
    for (;;) {
      const record = await store.approvals.get(id);
      if (!record || !isOwnApproval(record, principal)) {
        throw new ToolError('not_found', `You asked for no approval ${id}; ${whereToLook(context)}.`);
      }
      const isOver = isEnded(statusOf(record, { server })) || (record.repeats === true && record.status === 'approved');
      if (isOver || signal?.aborted || performance.now() >= until) return showToCaller(record, context);
      await delay(LOOK_MS, undefined, { signal }).catch(() => undefined);
    }
  },
});

export const approvalKind = defineKind({
  type: 'approval',
  collection: 'approvals',
  list: listApprovals,
  get: getApproval,
  sees: isVisible,
  address: { label: 'tool', title: 'A call that waits for a person or was decided' },
  event: {
    name: 'approval',
    words: 'An approval',
    only: { requested: 'was requested', decided: 'was decided' },
    whichOf({ decidedIn, revision }, happened) {
      if (happened === 'created') return 'requested';
      return happened === 'updated' && decidedIn === revision ? 'decided' : undefined;
    },
    tells({ id, tool, by, expiresAt, status, decidedBy }: ApprovalRecord, server) {
      const decision = decidedBy && { decision: status === 'rejected' ? status : ('approved' as const), decidedBy };
      return { approval: { tool, by, expiresAt, ...decision, url: approvalPage(server, id) } };
    },
  },
});

export const approvalTools = [listApprovals, getApproval, decideApproval, waitForApproval];
