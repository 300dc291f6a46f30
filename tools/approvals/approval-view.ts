import { type Approval, type ApprovalRecord, ENDED } from '../../resources/approval.ts';
import { capsuleIn } from '../core/access/principal.ts';
import { guardedAmong, isSeen } from '../core/access/visibility.ts';
import { toToolError } from '../core/errors.ts';
import { approvalPage, callerKeyOf, idempotencyOf, isExpired } from '../core/registry/approvals.ts';
import type { CallerContext } from '../core/registry/context.ts';
import { keptAnswer } from '../core/registry/idempotency.ts';

export function statusOf(record: ApprovalRecord, { server }: Pick<CallerContext, 'server'>): Approval['status'] {
  return isExpired(record, server.now()) ? 'expired' : record.status;
}

export function isEnded(status: Approval['status']): boolean {
  return ENDED.some((each) => each === status);
}

/** Whoever has a capsule does not learn who works here. */
export function showApproval(
  record: ApprovalRecord,
  { principal, server }: Pick<CallerContext, 'principal' | 'server'>,
): Approval {
  const {
    sealed: _,
    slot: __,
    askedBy,
    callerKey: ___,
    callKey: ____,
    definition,
    right,
    decidedIn,
    persons,
    runAs,
    wouldChange: _____,
    door,
    requestId,
    decidedBy,
    ...shown
  } = record;
  return {
    ...shown,
    ...(decidedBy && !capsuleIn(principal) && { decidedBy }),
    status: statusOf(record, { server }),
    url: approvalPage(server, record.id),
  };
}

/** Of what the call would change, the records that the caller may read. */
async function readable(changes: Approval['wouldChange'], { store, principal, server }: CallerContext) {
  const ids = (changes ?? []).map(({ id }) => id);
  const hidden = (await guardedAmong(store, ids)).filter((record) => !isSeen(record, principal)).map(({ id }) => id);
  return changes?.filter(({ type, id }) => {
    const kind = server.kinds.find((each) => each.type === type);
    if (!kind || hidden.includes(id)) return false;
    return principal.rights.allows({ scope: kind.scope, needs: [{ resource: kind.resource, op: 'read', ids: [id] }] });
  });
}

/** With what the call answered, for who made it. */
export async function showToCaller(record: ApprovalRecord, showing: CallerContext): Promise<Approval> {
  const wouldChange = await readable(record.wouldChange, showing);
  const { store, principal, server } = showing;
  const shown = { ...showApproval(record, showing), ...(wouldChange && { wouldChange }) };
  if (record.status !== 'done' || record.callerKey !== callerKeyOf(principal)) return shown;
  const tool = server.catalog.get(record.tool)?.tool;
  const kept = await keptAnswer(store, { principal, now: server.now() }, idempotencyOf(record.id)).catch((thrown) => ({
    error: { error: toToolError(thrown).message },
  }));
  if (!kept || !tool) return shown;
  if ('error' in kept) return { ...shown, answer: { error: kept.error.error } };
  return { ...shown, answer: tool.shown ? await tool.shown({ ...kept.output }, showing) : kept.output };
}
