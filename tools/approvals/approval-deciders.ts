import type { ApprovalRecord } from '../../resources/approval.ts';
import { pagesOf } from '../../store/pages.ts';
import { refusalWithScopes } from '../core/access/app-principal.ts';
import { behind } from '../core/access/ask-first.ts';
import { credentialStatus } from '../core/access/credential-status.ts';
import { requireFresh } from '../core/access/fresh-sign-in.ts';
import { capsuleIn, isSession, type Principal } from '../core/access/principal.ts';
import { mayCallWith } from '../core/access/reach.ts';
import { subjectsIn } from '../core/access/subjects.ts';
import { forbidden, ToolError } from '../core/errors.ts';
import type { VisibilityContext } from '../core/kind.ts';
import { callerKeyOf, openSealed } from '../core/registry/approvals.ts';
import type { CallerContext } from '../core/registry/context.ts';

/** Whether the call is the caller's own, or one of what acts for it: of an agent that a key runs, or of anything behind which a person is. */
export function isOwnApproval({ callerKey, persons, runAs }: ApprovalRecord, principal: Principal): boolean {
  if (callerKey === callerKeyOf(principal)) return true;
  if (!persons.includes(principal.ownerId)) return false;
  const { type, id } = principal;
  return principal.rights.isPerson === true || (!capsuleIn(principal) && runAs.type === type && runAs.id === id);
}

const DECIDING = { scope: 'admin', needs: [{ resource: 'approval', op: 'decide' }] } as const;

/** Who would decide: the caller, or whom a flow acts for, which may read what that one may. Undefined if they may not. */
export function deciderIn(caller: Principal): Principal | undefined {
  const decider = caller.type === 'flow' && caller.actsFor ? caller.actsFor : caller;
  return !decider.tools && decider.rights.allows(DECIDING) ? decider : undefined;
}

/** Whether the principal could make this call itself. */
async function mayMake(record: ApprovalRecord, principal: Principal, { store, catalog, kinds }: VisibilityContext) {
  const tool = catalog.get(record.tool)?.tool;
  if (!tool) return principal.rights.isAdmin;
  return mayCallWith(principal, tool, record.right, subjectsIn(store, kinds));
}

/** Who may know of an approval: its caller, the people whom that acts for, and those who may decide such calls. */
export async function isVisible(
  record: ApprovalRecord,
  principal: Principal,
  seeing: VisibilityContext,
): Promise<boolean> {
  if (isOwnApproval(record, principal)) return true;
  const decider = deciderIn(principal);
  return decider !== undefined && mayMake(record, decider, seeing);
}

/** Only the independent decide: nobody who asked, or acts for or is behind who asked, now or then. @throws ToolError (forbidden) */
export async function requireDecider(record: ApprovalRecord, deciding: CallerContext): Promise<void> {
  const { store, principal, server } = deciding;
  if (!areApart(await behind(principal, store), record, await behindNow(record, deciding))) {
    throw forbidden((await linkProblem(record, deciding)) ?? SAME);
  }
  const tool = server.catalog.get(record.tool)?.tool;
  if (!tool) throw new ToolError('conflict', `There is no tool ${record.tool} any more, so the call cannot run.`);
  const { input } = openSealed(record, server);
  if (!(await mayMake(record, principal, { store, ...server }))) throw refusalWithScopes(principal, tool, input);
  await requireFresh(principal, tool, input, store);
}

/** Tells for one approval after another whether the principal may decide it, apart from a sign-in that may have to be fresh. */
export async function decidableBy(deciding: CallerContext): Promise<(record: ApprovalRecord) => Promise<boolean>> {
  const { store, principal, server } = deciding;
  if (deciderIn(principal) !== principal) return async () => false;
  const own = await behind(principal, store);
  const known = new Map<string, Promise<string[]>>();
  return async (record) => {
    const key = JSON.stringify(record.runAs);
    const now = known.get(key) ?? behindNow(record, deciding);
    known.set(key, now);
    return areApart(own, record, await now) && mayMake(record, principal, { store, ...server });
  };
}

/** Whether some person of the workspace may decide it. */
export async function canAnybodyDecide(record: ApprovalRecord, { store, server }: Omit<CallerContext, 'principal'>) {
  const { catalog, now } = server;
  for await (const people of pagesOf(store.adminUsers, { where: { isActive: true }, limit: 100 })) {
    for (const { id, email } of people) {
      const person = await credentialStatus({ type: 'session', id, name: email }, store, { catalog, now: now() });
      if (typeof person === 'string') continue;
      if (await (await decidableBy({ store, principal: person, server }))(record)) return true;
    }
  }
  return false;
}

/** Why the caller may not decide, where nothing but the link by which their session began is the reason. */
export async function linkProblem(record: ApprovalRecord, deciding: CallerContext): Promise<string | undefined> {
  const { store, principal } = deciding;
  if (!isSession(principal)) return undefined;
  const { sessionId, madeWith: _, ...person } = principal;
  const now = await behindNow(record, deciding);
  if (areApart(await behind(principal, store), record, now)) return undefined;
  if (!areApart(await behind(person, store), record, now)) return undefined;
  const { makerId = '' } = (await store.sessions.get(sessionId)) ?? {};
  const { email = 'an API key' } = (await store.adminUsers.get(makerId)) ?? {};
  return `You signed in by a link that ${email} made, who is behind this call; sign in by mail, or by a passkey that you add under "My account", then decide.`;
}

function areApart(own: readonly string[], { persons }: ApprovalRecord, now: readonly string[]): boolean {
  return !own.some((one) => persons.includes(one) || now.includes(one));
}

/** Who is behind the caller now: since it asked, somebody else may have taken it over. */
async function behindNow({ runAs }: ApprovalRecord, { store, server }: CallerContext): Promise<string[]> {
  const found = await credentialStatus(runAs, store, { catalog: server.catalog, now: server.now() });
  return typeof found === 'string' ? [] : behind(found, store);
}

const SAME =
  'You asked for this call, or what asked acts for you or for whom you act; ask somebody independent to decide it.';
