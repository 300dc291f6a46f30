import type { Readers } from '../../../store/port.ts';
import { ToolError } from '../errors.ts';
import { matchEntry } from './allowlist.ts';
import type { GuardedCatalog, GuardedTool } from './guarded-tool.ts';
import { actorsOf, isSession, type Principal } from './principal.ts';

/** How long somebody counts as just signed in. */
export const FRESH_MS = 10 * 60 * 1000;

/** Until when somebody who showed at this time who they are counts as just signed in. Undefined if that is over. */
export function freshUntil(shownAt: string, now: Date): string | undefined {
  const until = Date.parse(shownAt) + FRESH_MS;
  return until > now.getTime() ? new Date(until).toISOString() : undefined;
}

type Call = Pick<GuardedTool, 'answersSecret' | 'lasting'>;

/** Secrets and what outlives the session need a fresh sign-in. @throws ToolError (forbidden) if the session behind the call has none */
export async function requireFresh(principal: Principal, tool: Call, input: object, store: Readers): Promise<void> {
  if (!mayNeedFresh(tool) || !isStale(principal)) return;
  const { answersSecret, lasting } = tool;
  if (answersSecret || !lasting?.of || (await lasting.of(input, store))) throw refusal();
}

/** The same for what is handed to something that acts: it could make these calls later, when nobody is asked. */
export function requireFreshFor(principal: Principal, entries: readonly string[], catalog: GuardedCatalog): void {
  if (!isStale(principal)) return;
  if (entries.some((entry) => matchEntry(entry, catalog).some(({ tool }) => mayNeedFresh(tool)))) throw refusal();
}

export function mayNeedFresh({ answersSecret, lasting }: Call): boolean {
  return answersSecret === true || lasting !== undefined;
}

/** Keys, capsules and apps are credentials of programs, so nobody is asked for them; what acts for a session is. */
function isStale(principal: Principal): boolean {
  const session = actorsOf(principal).find(isSession);
  return session !== undefined && session.freshUntil === undefined;
}

function refusal(): ToolError {
  return new ToolError('forbidden', NOT_FRESH, { required: { freshSignIn: true } });
}

const NOT_FRESH =
  'This needs a sign-in of less than 10 minutes ago. Confirm in the dashboard that it is you, with a passkey or by signing in again, and repeat the call. A script calls create_sign_in_link {"email": "<yours>"} with an API key of full access, sends POST /api/v1/auth/session {"idToken": "<idToken of that answer>"}, and repeats the call with the cookie of that answer.';
