import { hash } from 'node:crypto';
import { canonicalize } from 'json-canonicalize';
import type { ApprovalRecord } from '../../../resources/approval.ts';
import type { Readers, Writers } from '../../../store/port.ts';
import { actorsOf, type Principal } from '../access/principal.ts';
import { ToolError } from '../errors.ts';
import type { IdempotencyRequest } from './call.ts';
import type { ServerContext } from './context.ts';

/** What is sealed of a call, so that it can run later, in another process. */
export interface SealedCall {
  readonly raw: unknown;
  readonly input: object;
}

export function approvalPlace(id: string): string {
  return `approval ${id}`;
}

export function approvalPage({ baseUrl = '' }: Pick<ServerContext, 'baseUrl'>, id: string): string {
  return `${baseUrl}/approvals/${id}`;
}

/** The idempotency of an approved call: its answer is kept, and it runs once, as any call with a key. */
export function idempotencyOf(id: string): IdempotencyRequest {
  return { key: id, operation: 'approved call' };
}

/** Stands for the caller with all that it acts for. */
export function callerKeyOf(principal: Principal): string {
  const parties = actorsOf(principal).map(({ type, id, ownerId }) => [type, id, ownerId]);
  return hash('sha256', canonicalize(parties));
}

/** What an approval that ends loses with its new status. */
export const ENDS = { sealed: null } as const;

/** Also before it is kept as such. */
export function isExpired({ expiresAt, status }: ApprovalRecord, now: Date): boolean {
  if (status === 'expired') return true;
  return (status === 'waiting' || status === 'approved') && Date.parse(expiresAt) <= now.getTime();
}

/** Whether its principal can be found again without a call of it. */
export function isCredential({ type }: Principal): boolean {
  return type === 'session' || type === 'api-key' || type === 'app' || type === 'capsule';
}

/** What finds the principal of the credential again, later. */
export function credentialRef({ type, id, name, madeWith }: Principal): ApprovalRecord['runAs'] {
  return { type, id, name, ...(madeWith && { endsWith: madeWith.id }) };
}

/** Ends an approval that nobody needs any more, unless its call has begun. */
export async function endApproval(
  { approvals }: Pick<Writers, 'approvals'>,
  id: string,
  problem: string,
): Promise<void> {
  const found = await approvals.get(id);
  if (found?.status !== 'waiting' && found?.status !== 'approved') return;
  await approvals.update(id, { status: 'failed', problem, slot: id, ...ENDS });
}

/** Why nothing can run under the approval any more. Undefined if something can, or its answer may be kept. */
export function endOf(known: ApprovalRecord, now: Date): ToolError | undefined {
  const { id, status, note, problem } = known;
  if (isExpired(known, now)) {
    return new ToolError('conflict', `The approval ${id} expired at ${known.expiresAt}; ${ANEW}`);
  }
  if (status === 'rejected') {
    const said = note === undefined ? '' : `: ${note}`;
    return new ToolError('forbidden', `${deciderOf(known)} rejected this call (${id})${said}`);
  }
  if (status === 'unknown') return new ToolError('interrupted', CUT_OFF);
  if (status === 'failed') return new ToolError('conflict', `The approval ${id} ended. ${problem ?? ''} ${ANEW}`);
  return undefined;
}

/** As the caller is told: whoever has a capsule does not learn who works here. */
function deciderOf({ by, onBehalfOf = [], decidedBy }: ApprovalRecord): string {
  const isOfCapsule = [by, ...onBehalfOf].some(({ type }) => type === 'capsule');
  return (isOfCapsule ? undefined : decidedBy?.name) ?? 'A person';
}

/** Whether nothing is to be waited for any more: it was decided, has expired or is gone. */
export async function isSettled({ approvals }: Pick<Readers, 'approvals'>, id: string, now: Date): Promise<boolean> {
  const found = await approvals.get(id);
  return found?.status !== 'waiting' || isExpired(found, now);
}

/** The first of the approvals that is still to be waited for. */
export async function firstOpen(
  store: Pick<Readers, 'approvals'>,
  calls: readonly { readonly approvalId: string }[] = [],
  now: Date,
): Promise<string | undefined> {
  for (const { approvalId } of calls) if (!(await isSettled(store, approvalId, now))) return approvalId;
  return undefined;
}

export const ANEW = 'make the call without it to ask anew.';
export const CUT_OFF =
  'The approved call began and was cut off, so whether it took effect is not known; look before you ask for it again.';

/** In characters of JSON. */
export const LONGEST_SEALED = 1_000_000;

export function canBeSealed(call: unknown): boolean {
  return (JSON.stringify(call) ?? '').length <= LONGEST_SEALED;
}

export function openSealed(record: ApprovalRecord, server: Pick<ServerContext, 'secrets'>): SealedCall {
  const { id, sealed } = record;
  if (sealed === undefined) throw new ToolError('conflict', `The arguments of ${id} are no longer kept.`);
  return openArguments(sealed, approvalPlace(id), server) as SealedCall; // sealed by the gate
}

/** What was sealed of a call that waits. */
export function openArguments(sealed: string, place: string, { secrets }: Pick<ServerContext, 'secrets'>): unknown {
  if (!secrets) throw new ToolError('unavailable', 'This server has no key to open the arguments of the call with.');
  return JSON.parse(secrets.open(sealed, place));
}
