import type { Door } from '../../../resources/audit-entry.ts';
import type { ErrorBody } from '../../../resources/error.ts';
import { backoffMs } from '../../../store/backoff.ts';
import type { CheckCredential } from '../access/credential-status.ts';
import type { Principal, SessionPrincipal } from '../access/principal.ts';
import { type InputRequired, ToolError } from '../errors.ts';
import type { Tool } from './tool.ts';

/** One tool call, as a door hands it over. */
export interface Call {
  readonly principal: Principal;
  readonly tool: string;
  readonly input: unknown;
  /** Gathers the whole input where the door has only a part of it yet; may throw a ToolError. */
  readonly readInput?: (() => Promise<unknown>) | undefined;
  /** Files that came with the input outside of it, as the body of a request; read with it. */
  readonly attached?: (() => Attached | undefined) | undefined;
  readonly door: Door;
  readonly requestId: string;
  readonly auditId?: string | undefined;
  readonly idempotency?: IdempotencyRequest | undefined;
  /** Whether a person has to say yes to this call, whoever makes it. */
  readonly needsApproval?: boolean | undefined;
  /** The approval that the caller names for this call. Without one, that of an equal call counts. */
  readonly approvalId?: string | undefined;
  /** The name that the software of the caller gives itself. */
  readonly client?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /** Only where the caller can ask a person. */
  readonly questions?: Questions | undefined;
  /** Asks for the caller as it stands now: while the call continues, and before each call that it makes. */
  readonly checkCredential?: CheckCredential | undefined;
  /** Only in a call inside another one: why its caller may not continue. */
  readonly gone?: ToolError | undefined;
  /** Only in a call that the handler of a tool makes: that tool, and the number of calls around this one. */
  readonly from?: { readonly tool: Tool; readonly depth: number } | undefined;
}

/** Files that came with a call. */
export interface Attached {
  readonly bytes: readonly Buffer[];
  /** Whoever took them needs the others no more: the next such request of the caller may come in. */
  release(): void;
}

/** What a caller who has a person at hand says about questions to that person, in the form of MCP. */
export interface Questions {
  /** The kinds of questions that it can ask. */
  readonly modes: readonly ('form' | 'url')[];
  /** What the person said to the questions of an earlier try of the call, and the state that came with them. */
  readonly answers?: Readonly<Record<string, unknown>>;
  readonly state?: string;
}

/** A caller's wish that a repeat of this call answers what the first one answered. */
export interface IdempotencyRequest {
  readonly key: string;
  /** What the key is bound to besides the principal: method and path, or the tool's name. */
  readonly operation: string;
}

/** How far a call has come; `progress` grows with each report. */
export interface Progress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
  /** The same for doors that stream events. */
  readonly event?: CallEvent;
}

/** Something that happened during a call, as a client that listens receives it. */
export interface CallEvent {
  readonly name: string;
  readonly data: object;
}

export type Answer =
  | {
      readonly ok: true;
      readonly output: object;
      readonly replayed?: true;
      /** The output is a tool result of MCP itself: `content`, and `structuredContent` if there is any. */
      readonly isContent?: true;
      /** The session that the call began. The door gives it to the caller in its own way, for example as a cookie. */
      readonly began?: SessionPrincipal;
    }
  | {
      readonly ok: false;
      readonly error: ErrorBody;
      readonly replayed?: true;
      /** What a person has to do or say before the call is made again. */
      readonly wants?: InputRequired;
      /** Nothing was done, and the same call may succeed later. */
      readonly notMade?: true;
      /** Of a `rate_limited` error. */
      readonly retryAfterSeconds?: number;
      /** The scopes that a connected app can ask its person for, so that the call would be allowed. */
      readonly missingScopes?: readonly string[];
    };

export function errorOf({ code, error, ...body }: ErrorBody): ToolError {
  const { issues, required, currentRevision, approvalId, expiresAt, url, runId, threadId } = body;
  return new ToolError(code, error, {
    ...(issues && { issues }),
    ...(required && { required }),
    ...(currentRevision !== undefined && { currentRevision }),
    ...(approvalId !== undefined && { approval: { approvalId, expiresAt, url } }),
    ...(runId !== undefined && { runId }),
    ...(threadId !== undefined && { threadId }),
  });
}

const BACKOFF = { firstMs: 250, longestMs: 30_000 };

/** What is known of calls that were not made: how many there were, and how long ago the first was. */
interface RetryState {
  readonly count: number;
  readonly sinceMs: number;
  /** Repeats begin only within this time. */
  readonly withinMs: number;
}

/** How long to wait before a call that was certainly not made is made again. Undefined if it is not to be. */
export function retryDelayMs(answer: Answer, { count, sinceMs, withinMs }: RetryState): number | undefined {
  if (answer.ok || !answer.notMade) return undefined;
  const delay = Math.max(backoffMs(count, BACKOFF), (answer.retryAfterSeconds ?? 0) * 1000);
  return sinceMs + delay <= withinMs ? delay : undefined;
}
