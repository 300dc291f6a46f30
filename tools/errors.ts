import type { ErrorBody, ErrorCode, Issue, RequiredRight } from '../resources/error.ts';
import { NotFound, StaleRevision, StoreUnavailable, UniqueTaken } from '../store/errors.ts';

export interface ErrorDetail {
  readonly issues?: readonly Issue[];
  readonly required?: RequiredRight;
  readonly currentRevision?: number;
  /** Of a `rate_limited` error; a door says it in its own way. */
  readonly retryAfterSeconds?: number;
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
}

/** Codes every tool can answer with; the `errors` of a tool name what comes on top. */
export const COMMON_ERRORS = ['invalid_input', 'unauthenticated', 'forbidden', 'internal', 'unavailable'] as const;

/** The body for a caller. What is no ToolError and no refusal of the store becomes `internal` with a fixed sentence. */
export function errorBody(error: ToolError, requestId: string): ErrorBody {
  const { issues, required, currentRevision } = error.detail;
  return {
    error: error.message,
    code: error.code,
    requestId,
    ...(issues && { issues: [...issues] }),
    ...(required && { required }),
    ...(currentRevision !== undefined && { currentRevision }),
  };
}

export function toToolError(error: unknown): ToolError {
  if (error instanceof ToolError) return error;
  if (error instanceof NotFound) {
    return new ToolError('not_found', `No record of ${words(error.collection)} has the id ${error.id}.`);
  }
  if (error instanceof StaleRevision) {
    const { currentRevision } = error;
    const message = `The record is now at revision ${currentRevision}; read it again and repeat the change on that.`;
    return new ToolError('conflict', message, { currentRevision });
  }
  if (error instanceof UniqueTaken) {
    const fields = error.fields.join(' and ');
    return new ToolError(
      'conflict',
      `Another record of ${words(error.collection)} has this ${fields}; choose another.`,
    );
  }
  if (error instanceof StoreUnavailable) {
    return new ToolError('unavailable', 'The change could not be stored and was not made; try again.', {}, error);
  }
  return new ToolError(
    'internal',
    'The server failed; the operator finds the cause in the log under the requestId.',
    {},
    error,
  );
}

function words(collection: string): string {
  return collection.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}
