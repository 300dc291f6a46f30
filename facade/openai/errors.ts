import type { ServerResponse } from 'node:http';
import { type ErrorBody, type ErrorCode, errorStatus } from '../../resources/error.ts';
import { errorBodyOf, type ToolError } from '../../tools/core/errors.ts';
import type { Answer } from '../../tools/core/registry/call.ts';
import { contextOf } from '../http/request-context.ts';
import { sendJson, setErrorHeaders } from '../http/respond.ts';

/** An error as clients of OpenAI read it. `run_id` and `thread_id` are ours. */
interface OpenAiError {
  readonly message: string;
  readonly type: string;
  readonly param: string | null;
  readonly code: string | null;
  readonly run_id?: string;
  readonly thread_id?: string;
}

type Failure = Omit<Extract<Answer, { readonly ok: false }>, 'ok'> &
  Pick<ToolError['detail'], 'invalidToken' | 'signIn'>;

/** Types and codes that OpenAI uses for the same. */
const KINDS: Readonly<Partial<Record<ErrorCode, readonly [type: string, code: string | null]>>> = {
  unauthenticated: ['invalid_request_error', 'invalid_api_key'],
  forbidden: ['permission_error', 'insufficient_permissions'],
  rate_limited: ['rate_limit_error', 'rate_limit_exceeded'],
  internal: ['server_error', null],
  unavailable: ['server_error', null],
};

/** How our members are named in requests of this form. */
const MEMBERS: readonly (readonly [RegExp, string])[] = [
  [/^outputSchema\b/, 'response_format.json_schema.schema'],
  [/^agent(Id)?$/, 'model'],
  [/^(input|message|history|attachments)\b/, 'messages'],
  [/^maxTokens$/, 'max_completion_tokens'],
  [/^threadId$/, 'metadata.thread_id'],
];

export function openAiError(body: ErrorBody): OpenAiError {
  const { error, code, issues: [first] = [], required, runId, threadId } = body;
  const [type, named] = KINDS[code] ?? ['invalid_request_error', code];
  const param = first && first.path !== '' ? memberNamed(first.path) : null;
  const missing = [required?.scope, required?.grant].filter((right) => right !== undefined).join(' and ');
  const more = required?.endpoint ?? missing;
  return {
    message: `${error}${code === 'forbidden' && more !== '' ? ` (required: ${more})` : ''}`,
    type,
    param,
    code: named,
    ...(runId !== undefined && { run_id: runId }),
    ...(threadId !== undefined && { thread_id: threadId }),
  };
}

function memberNamed(path: string): string {
  const [pattern, name] = MEMBERS.find(([each]) => each.test(path)) ?? [];
  return pattern && name !== undefined ? path.replace(pattern, name) : path;
}

export function sendFailure(response: ServerResponse, { error, ...detail }: Failure): void {
  const { code } = error;
  setErrorHeaders(response, error, detail);
  // Clients of OpenAI repeat requests by themselves. A run may have done something, so only what was not made is repeated.
  const mayRepeat = detail.notMade || (code === 'rate_limited' && error.runId === undefined);
  response.setHeader('X-Should-Retry', String(mayRepeat === true));
  // Clients of OpenAI take every 2xx for what they asked for.
  const status = code === 'approval_required' ? errorStatus.forbidden : errorStatus[code];
  sendJson(response, status, { error: openAiError(error) });
}

/** For errors that are thrown before a tool is called: by the checks of credentials, and for unknown paths. */
export function sendOpenAiError(response: ServerResponse, error: ToolError): void {
  sendFailure(response, { ...error.detail, error: errorBodyOf(error, contextOf(response).requestId) });
}

const LONGEST_SHOWN = 200;

function shown(model: string): string {
  return JSON.stringify(model.slice(0, LONGEST_SHOWN));
}

/** The answer for a model that is not there for the caller, whether or not others have it. */
export function noModel(
  response: ServerResponse,
  model: string,
  why = `There is no model ${shown(model)} for this key`,
): void {
  response.setHeader('X-Should-Retry', 'false');
  const message = `${why}; GET /api/v1/openai/models lists the agents that it may talk to.`;
  const error = { message, type: 'invalid_request_error', param: 'model', code: 'model_not_found' };
  sendJson(response, errorStatus.not_found, { error });
}
