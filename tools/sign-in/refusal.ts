import { ToolError } from '../core/errors.ts';

/** Why a sign-in was refused. Only the log shows it; callers learn no more than that they were refused. */
export class SignInRefused extends Error {}

/** The same answer for every failed attempt. The reason is its cause, which is logged. */
export function refuseSignIn(reason: string, cause?: unknown): ToolError {
  const logged = new SignInRefused(reason, cause === undefined ? undefined : { cause });
  return new ToolError('unauthenticated', 'Authentication required', {}, logged);
}
