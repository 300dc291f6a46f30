import { ToolError } from '../registry/errors.ts';

/** Why somebody was not let in: for the log alone, callers learn no more than that they were not. */
export class SignInRefused extends Error {}

/** The one answer to every failed attempt. The reason is its cause, which is logged. */
export function refuseSignIn(reason: string, cause?: unknown): ToolError {
  const logged = new SignInRefused(reason, cause === undefined ? undefined : { cause });
  return new ToolError('unauthenticated', 'Authentication required', {}, logged);
}
