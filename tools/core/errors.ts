import type { ErrorBody, ErrorCode, Issue, RequiredRight } from '../../resources/error.ts';
import { DiskFull } from '../../store/disk-full.ts';
import {
  NotFound,
  NumberTooLarge,
  StaleRevision,
  StoreBusy,
  StoreDamaged,
  StoreUnavailable,
  StoreUncertain,
  UniqueTaken,
} from '../../store/errors.ts';

export interface ErrorDetail {
  readonly issues?: readonly Issue[];
  readonly required?: RequiredRight;
  readonly currentRevision?: number;
  /** Of an `approval_required` error. */
  readonly approval?: Pick<ErrorBody, 'approvalId' | 'expiresAt' | 'url'>;
  /** Of an `unavailable` or `rate_limited` error: nothing was done, and the same call may succeed later. */
  readonly notMade?: true;
  /** The run of an agent that the call began, and the thread in which it was to answer. */
  readonly runId?: string;
  readonly threadId?: string;
  /** Given with `rate_limited`; each door passes it on in its own way. */
  readonly retryAfterSeconds?: number;
  /** What a person has to do before the call can be made again. Only callers who can ask a person are told in this form. */
  readonly wants?: InputRequired;
  /** Given with `unauthenticated`: there was a token, and it is not valid. */
  readonly invalidToken?: true;
  /** Of an `unauthenticated` error: the address of the metadata by which a client gets a token, and the scope to ask for. */
  readonly signIn?: { readonly metadata: string; readonly scope: string };
  /** Of a `forbidden` error: the scopes that a connected app can ask its person for, so that the call would be allowed. */
  readonly missingScopes?: readonly string[];
}

/** Requests to a person in the form of MCP, by the names under which the answers come back. */
export interface InputRequired {
  readonly requests: Readonly<Record<string, { readonly method: string; readonly params: object }>>;
  /** Given back unchanged with the answers. */
  readonly state?: string;
}

/** An error whose message is safe to show to the caller and names the next step. */
export class ToolError extends Error {
  readonly code: ErrorCode;
  readonly detail: ErrorDetail;

  constructor(code: ErrorCode, message: string, detail: ErrorDetail = {}, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.detail = detail;
  }

  with(detail: ErrorDetail): ToolError {
    return new ToolError(this.code, this.message, { ...this.detail, ...detail }, this.cause);
  }
}

/** Makes the error that a handler throws; takes only codes that the tool declares. */
export type Fail<Code extends ErrorCode> = (
  code: Code | 'invalid_input' | 'forbidden' | 'unavailable',
  message: string,
  detail?: ErrorDetail,
) => ToolError;

export function invalidMember(path: string, message: string): ToolError {
  return new ToolError('invalid_input', message, { issues: [{ path, message }] });
}

/** @throws ToolError (invalid_input) that begins with the first of the problems, if there are any */
export function requireNoIssues(issues: readonly Issue[], most = issues.length): void {
  const [first] = issues;
  if (first) throw new ToolError('invalid_input', `${first.path}: ${first.message}`, { issues: issues.slice(0, most) });
}

export const FORBIDDEN = 'Insufficient permissions';

/** The error for a call beyond the rights of its caller. The reason is about the input member at the path, by default about the whole call. */
export function forbidden(reason: string, required?: RequiredRight, path = ''): ToolError {
  return new ToolError('forbidden', FORBIDDEN, {
    ...(required && Object.keys(required).length > 0 && { required }),
    issues: [{ path, message: reason }],
  });
}

/** Codes every tool can answer with; the `errors` of a tool add to them. Callers that ask first also get `approval_required`. */
export const COMMON_ERRORS = ['invalid_input', 'unauthenticated', 'forbidden', 'internal', 'unavailable'] as const;

/** The body for a caller. Anything but a ToolError or a refusal of the store becomes `internal` with a fixed sentence. */
export function errorBodyOf(error: ToolError, requestId: string): ErrorBody {
  const { issues, required, currentRevision, approval, runId, threadId } = error.detail;
  return {
    error: error.message,
    code: error.code,
    requestId,
    ...(issues && { issues: [...issues] }),
    ...(required && { required }),
    ...(currentRevision !== undefined && { currentRevision }),
    ...approval,
    ...(runId !== undefined && { runId }),
    ...(threadId !== undefined && { threadId }),
  };
}

export function toToolError(error: unknown): ToolError {
  if (error instanceof ToolError) return error;
  if (error instanceof NotFound) {
    const { one, many } = named(error.collection);
    return new ToolError('not_found', `There is no ${one} ${error.id}; list_${many} shows the ones you can see.`);
  }
  if (error instanceof StaleRevision) {
    const { currentRevision } = error;
    const message = `The record is now at revision ${currentRevision}; read it again and repeat the change on that.`;
    return new ToolError('conflict', message, { currentRevision });
  }
  if (error instanceof UniqueTaken) {
    const fields = error.fields.join(' and ');
    return new ToolError('conflict', `Another ${named(error.collection).one} has this ${fields}; choose another.`);
  }
  if (error instanceof NumberTooLarge) {
    return invalidMember(error.path, `${error.path}: The number is larger than any of JSON; write one below 1.7e308.`);
  }
  if (error instanceof DiskFull) return new ToolError('unavailable', error.message, { notMade: true }, error);
  if (error instanceof StoreBusy) return new ToolError('unavailable', error.message, { notMade: true });
  if (error instanceof StoreDamaged) {
    const message = 'A data file is damaged; the operator finds the place and what to do in the log.';
    return new ToolError('unavailable', message, {}, error);
  }
  if (error instanceof StoreUncertain) {
    const message = 'The store failed while the change was made, so it may have been made. Look before you try again.';
    return new ToolError('unavailable', message, {}, error);
  }
  if (error instanceof StoreUnavailable) {
    const message = 'The store failed, and nothing was changed; try again.';
    return new ToolError('unavailable', message, { notMade: true }, error);
  }
  return new ToolError(
    'internal',
    'The server failed; the operator finds the cause in the log under the requestId.',
    {},
    error,
  );
}

/** The name of one record of the collection, and the name of all in tools: `admin user`, `admin_users`. */
function named(collection: string): { readonly one: string; readonly many: string } {
  const many = FOUND_AS[collection] ?? collection.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const one = many.replace(/ies$/, 'y').replace(/s$/, '').replaceAll('_', ' ');
  return { one, many };
}

/** Collections whose records have another name in tools, or are found through another kind. */
const FOUND_AS: Readonly<Record<string, string>> = { databaseRecords: 'records', taskDocuments: 'tasks' };
