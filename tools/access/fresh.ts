import type { Catalog } from '../registry/catalog-index.ts';
import { ToolError } from '../registry/errors.ts';
import { matchEntry } from './allowlist.ts';
import type { Access, GuardedTool } from './guarded-tool.ts';
import { chainOf, isSession, type Principal } from './principal.ts';
import { accessFor } from './requirement.ts';

/** How long somebody counts as just signed in. */
const FRESH_MS = 10 * 60 * 1000;

/** Until when somebody who showed at this time who they are counts as just signed in. Undefined where that is over. */
export function freshUntil(shownAt: string, now: Date): string | undefined {
  const until = Date.parse(shownAt) + FRESH_MS;
  return until > now.getTime() ? new Date(until).toISOString() : undefined;
}

/** @throws ToolError (forbidden) where the call needs a fresh sign-in, and the session behind the call has none */
export function requireFresh(principal: Principal, tool: GuardedTool, input: object): void {
  if (accessFor(tool.access, input).fresh && isStale(principal)) throw refusal();
}

/** The same for what is handed to something that acts: it could make these calls later, when nobody is asked. */
export function requireFreshFor(principal: Principal, entries: readonly string[], catalog: Catalog): void {
  if (!isStale(principal)) return;
  if (entries.some((entry) => matchEntry(entry, catalog).some(({ tool }) => mayNeedFresh(tool)))) throw refusal();
}

/** Whether some call of the tool needs a fresh sign-in. */
export function mayNeedFresh({ access }: Pick<GuardedTool, 'access'>): boolean {
  const choices: readonly Access[] = 'among' in access ? access.among : [access];
  return choices.some(({ fresh }) => fresh);
}

/** Keys, capsules and apps are credentials of programs, so nobody is asked for them; what acts for a session is. */
function isStale(principal: Principal): boolean {
  const session = [principal, ...chainOf(principal)].find(isSession);
  return session !== undefined && session.freshUntil === undefined;
}

function refusal(): ToolError {
  return new ToolError('forbidden', NOT_FRESH, { required: { freshSignIn: true } });
}

const NOT_FRESH =
  'This needs a sign-in of less than 10 minutes ago. Confirm in the dashboard that it is you, with a passkey or by signing in again, and repeat the call.';
