import type { ApprovalRecord } from '../../resources/approval.ts';
import type { Readers } from '../../store/port.ts';
import { refusalFor } from '../core/access/app-principal.ts';
import { behind } from '../core/access/ask-first.ts';
import { credentialStatus } from '../core/access/credential-status.ts';
import { requireFresh } from '../core/access/fresh-sign-in.ts';
import type { Principal } from '../core/access/principal.ts';
import { mayCall, reaches } from '../core/access/reach.ts';
import { subjectsIn } from '../core/access/subjects.ts';
import { forbidden, ToolError } from '../core/errors.ts';
import { callerKeyOf, openSealed } from '../core/registry/approvals.ts';
import type { ServerFacts } from '../core/registry/context.ts';

interface Deciding {
  readonly store: Readers;
  readonly principal: Principal;
  readonly server: ServerFacts;
}

/** Whether the call is the caller's own, or one of what acts for the person who asks. */
export function isOwnApproval({ callerKey, persons }: ApprovalRecord, principal: Principal): boolean {
  return (
    callerKey === callerKeyOf(principal) || (principal.rights.isPerson === true && persons.includes(principal.ownerId))
  );
}

export function holdsDeciding({ rights, tools }: Principal): boolean {
  return !tools && rights.allows({ scope: 'admin', needs: [{ resource: 'approval', op: 'decide' }] });
}

/** Whether the caller could make this call itself. */
export async function mayMake(record: ApprovalRecord, { store, principal, server }: Deciding): Promise<boolean> {
  const tool = server.catalog.get(record.tool)?.tool;
  if (!tool) return principal.rights.isAdmin;
  if (!reaches(principal, tool)) return false;
  return mayCall(principal, tool, openSealed(record, server).input, subjectsIn(store, server.kinds));
}

/** Only the independent decide: nobody who asked, or acts for or is behind who asked, now or then. @throws ToolError (forbidden) */
export async function requireDecider(record: ApprovalRecord, deciding: Deciding): Promise<void> {
  const { store, principal, server } = deciding;
  const own = await behind(principal, store);
  const asked = new Set([...record.persons, ...(await behindNow(record, deciding))]);
  if (own.some((one) => asked.has(one))) throw forbidden(SAME);
  const tool = server.catalog.get(record.tool)?.tool;
  if (!tool) throw new ToolError('conflict', `There is no tool ${record.tool} any more, so the call cannot run.`);
  const { input } = openSealed(record, server);
  if (!(await mayMake(record, deciding))) throw refusalFor(principal, tool, input);
  await requireFresh(principal, tool, input, store);
}

/** Who is behind the caller now: since it asked, somebody else may have taken it over. */
async function behindNow({ runAs }: ApprovalRecord, { store, server }: Deciding): Promise<string[]> {
  const found = await credentialStatus(runAs, store, { catalog: server.catalog, now: server.now() });
  return typeof found === 'string' ? [] : behind(found, store);
}

const SAME =
  'You asked for this call, or what asked acts for you or for whom you act; ask somebody independent to decide it.';
