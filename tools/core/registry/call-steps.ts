import type { ApprovalRecord } from '../../../resources/approval.ts';
import type { SessionPrincipal } from '../access/principal.ts';
import { errorBodyOf, ToolError, toToolError } from '../errors.ts';
import type { CallStart } from '../history/audit-entry.ts';
import type { Answer, Call } from './call.ts';
import type { IdempotentCall } from './idempotency.ts';
import type { Tool } from './tool.ts';
import { parseInput } from './validate.ts';

/** The call to make: the requested one, or the one it delegates to. */
export type RequestedCall = Pick<Call, 'tool' | 'input' | 'readInput' | 'idempotency'>;

/** A call that passed all checks. */
export interface AdmittedCall {
  readonly asked: Call;
  readonly wanted: RequestedCall;
  readonly tool: Tool;
  readonly begun: CallStart;
  readonly given: unknown;
  readonly input: object;
  readonly repeat?: IdempotentCall;
  readonly session?: SessionPrincipal | undefined;
  /** The approval under which it runs, where it has to ask first. */
  readonly approved?: ApprovalRecord | undefined;
}

/** The parsed input. A fault in an input that signs in is `unauthenticated`. */
export function validated({ input: schema, session, bulk }: Tool, given: unknown): object {
  try {
    return parseInput(schema, given, { bulk });
  } catch (thrown) {
    if (session !== 'begins' || !(thrown instanceof ToolError)) throw thrown;
    throw new ToolError('unauthenticated', 'Authentication required', thrown.detail);
  }
}

/** The call of the other tool, as if it were made directly. */
export function standIn(
  { idempotency }: Call,
  other: { readonly tool: string; readonly input: unknown },
): RequestedCall {
  return { ...other, idempotency: idempotency && { key: idempotency.key, operation: `tools/call ${other.tool}` } };
}

export function succeeded(tool: Tool, output: object) {
  return { ok: true, output, ...(tool.answersContent && { isContent: true as const }) } as const;
}

export function failed(error: ToolError, { requestId }: Call): Answer {
  const { retryAfterSeconds, missingScopes, wants, notMade } = error.detail;
  return {
    ok: false,
    error: errorBodyOf(error, requestId),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
    ...(notMade && { notMade }),
    ...(missingScopes && { missingScopes }),
    ...(wants && { wants }),
  };
}

/** A store that refuses one step says nothing about earlier ones, so `notMade` is dropped unless the tool itself says that nothing was done. */
export function errorOfSteps({ findsBegun, resumes }: Tool, thrown: unknown): ToolError {
  const error = toToolError(thrown);
  const isSure = findsBegun || resumes ? error.detail.runId === undefined : thrown instanceof ToolError;
  const { notMade: _, ...detail } = error.detail;
  return isSure ? error : new ToolError(error.code, error.message, detail, error.cause);
}

/** The members of an unchecked input that a grant can name. */
export function nameable({ input: schema }: Tool, input: unknown): object {
  if (typeof input !== 'object' || input === null) return {};
  const given = input as Readonly<Record<string, unknown>>; // whose own members are looked at alone
  const fit = (value: unknown) => typeof value === 'string' && value.length <= 200 && value.isWellFormed();
  const names = Object.keys(schema.shape).filter((name) => Object.hasOwn(given, name) && fit(given[name]));
  return Object.fromEntries(names.map((name) => [name, given[name]]));
}

/** Somebody looks at a page, which asks by itself: that uses up no budget. */
export function isLook({ asked: { door, principal }, tool }: AdmittedCall): boolean {
  return door === 'dashboard' && tool.annotations.readOnlyHint && principal.type === 'session' && !principal.actsFor;
}
