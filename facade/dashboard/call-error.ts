export interface Issue {
  /** The member that is wrong, as `steps[0].tool`. Empty for the whole input. */
  readonly path: string;
  readonly message: string;
}

/** A call that the server refused, in its own words. */
export class CallError extends Error {
  readonly code: string;
  readonly tool: string;
  readonly requestId: string | undefined;
  readonly issues: readonly Issue[];
  readonly required: Required | undefined;
  readonly currentRevision: number | undefined;
  /** When to try again, where the server says so. */
  readonly retryAfterSeconds: number | undefined;

  constructor(tool: string, body: ErrorBody) {
    super(body.error);
    this.tool = tool;
    this.code = body.code;
    this.requestId = body.requestId;
    this.issues = body.issues ?? [];
    this.required = body.required;
    this.currentRevision = body.currentRevision;
    this.retryAfterSeconds = body.retryAfterSeconds;
  }
}

type Required = Readonly<{ scope?: string; grant?: string; role?: string; freshSignIn?: true }>;

export interface ErrorBody {
  readonly error: string;
  readonly code: string;
  readonly requestId?: string;
  readonly issues?: readonly Issue[];
  readonly required?: Required;
  readonly currentRevision?: number;
  readonly retryAfterSeconds?: number;
}

export const AWAY: ErrorBody = {
  error: 'The server cannot be reached. Check the connection and try again.',
  code: 'unreachable',
};
