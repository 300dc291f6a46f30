import type { ErrorBody } from '../../resources/error.ts';
import { send } from './http.ts';
import { pluck } from './pluck.ts';

export interface RestAnswer {
  readonly status: number;
  readonly headers: Headers;
  // The body is whatever the server sent; tests look into it freely.
  // biome-ignore lint/suspicious/noExplicitAny: see above
  readonly body: any;
}

export interface RestOptions {
  /** An API key, or the cookie of a session. */
  readonly key?: string | undefined;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

/** One REST request; a text body is sent as it is. */
export async function rest(
  { baseUrl }: { readonly baseUrl: string },
  method: string,
  path: string,
  { key, body, headers = {} }: RestOptions = {},
): Promise<RestAnswer> {
  const {
    status,
    headers: received,
    text,
  } = await send(`${baseUrl}${path}`, {
    method,
    headers: {
      ...(key !== undefined && credential(key)),
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  return { status, headers: received, body: text === '' ? undefined : JSON.parse(text) };
}

/** The header of an API key, or of the cookie of a session. */
export function credential(key: string): Record<string, string> {
  return key.startsWith('admin-session=') ? { Cookie: key } : { Authorization: `Bearer ${key}` };
}

export type ToolAnswer = { readonly output: Record<string, unknown> } | { readonly error: ErrorBody };

/** One MCP request to the unified endpoint; the message of its answer. */
export async function askMcp(
  { baseUrl }: { readonly baseUrl: string },
  key: string,
  method: string,
  params: object = {},
): Promise<RestAnswer['body']> {
  const message = { jsonrpc: '2.0', id: 1, method, params };
  return (await rest({ baseUrl }, 'POST', '/api/v1/mcp', { key, body: message })).body;
}

/** The names in its list of tools. */
export async function toolNames(server: { readonly baseUrl: string }, key: string): Promise<string[]> {
  return pluck((await askMcp(server, key, 'tools/list')).result.tools, 'name');
}

/** The id of the approval that a new key asks for, which asks before every call. */
export async function askedApproval(
  server: { readonly baseUrl: string; readonly adminKey: string },
  tool: string,
  input: object,
): Promise<string> {
  const key = await makeKey(server, { scopes: ['write'], askFirst: ['*'] });
  const answer = await callTool(server, key, tool, input);
  if ('error' in answer && answer.error.approvalId !== undefined) return answer.error.approvalId;
  throw new Error(`${tool} asks nobody: ${JSON.stringify(answer)}`);
}

/** One tool call over the unified endpoint, as a plain script makes it. */
export async function callTool(
  { baseUrl }: { readonly baseUrl: string },
  key: string,
  name: string,
  input: unknown = {},
  meta?: Record<string, unknown>,
): Promise<ToolAnswer> {
  const params = { name, arguments: input, ...(meta && { _meta: meta }) };
  const body = await askMcp({ baseUrl }, key, 'tools/call', params);
  if (!body.result) throw new Error(`tools/call ${name}: ${JSON.stringify(body)}`);
  if (body.result.isError) return { error: JSON.parse(body.result.content[0].text) };
  return { output: body.result.structuredContent };
}

/** The output of a call that must succeed. */
export async function mustCall(
  server: { readonly baseUrl: string },
  key: string,
  name: string,
  input: unknown = {},
  // biome-ignore lint/suspicious/noExplicitAny: tests look into outputs freely
): Promise<any> {
  const answer = await callTool(server, key, name, input);
  if ('error' in answer) throw new Error(`${name}: ${JSON.stringify(answer.error)}`);
  return answer.output;
}

/** The code of its error, or `ok`. */
export const outcomeOf = (answer: ToolAnswer) => ('error' in answer ? answer.error.code : 'ok');

/** Short ways to call tools and to look at what came of it; `call` makes the calls, in the name of its own default where none is given. */
export function outcomesOf<Caller>(call: (tool: string, input?: unknown, as?: Caller) => Promise<ToolAnswer>) {
  return {
    call,
    /** The output of a call that must succeed. */
    // biome-ignore lint/suspicious/noExplicitAny: tests look into outputs freely
    async must(tool: string, input: unknown = {}, as?: Caller): Promise<any> {
      const answer = await call(tool, input, as);
      if ('output' in answer) return answer.output;
      throw new Error(`${tool}: ${JSON.stringify(answer.error)}`);
    },
    /** The error of a call that must fail. */
    async refused(tool: string, input: unknown = {}, as?: Caller): Promise<ErrorBody> {
      const answer = await call(tool, input, as);
      if ('error' in answer) return answer.error;
      throw new Error(`${tool} was not refused: ${JSON.stringify(answer.output)}`);
    },
    /** The code of the error, or `ok`. */
    async codeOf(tool: string, input: unknown = {}, as?: Caller): Promise<string> {
      return outcomeOf(await call(tool, input, as));
    },
  };
}

/** The same for the tools of a server: as its admin, or with another key. */
export function callsOf(server: { readonly baseUrl: string; readonly adminKey: string }) {
  return outcomesOf((tool, input, key: string = server.adminKey) => callTool(server, key, tool, input));
}

/** A new key of the given rights; its secret. */
export async function makeKey(
  server: { readonly baseUrl: string; readonly adminKey: string },
  rights: { scopes?: string[]; grants?: string[] | undefined; expiresAt?: string; askFirst?: string[] },
): Promise<string> {
  const { secret } = await mustCall(server, server.adminKey, 'create_api_key', { name: 'test', scopes: [], ...rights });
  return secret;
}

/** A new live capsule with its token. */
export function makeCapsule(
  server: { readonly baseUrl: string; readonly adminKey: string },
  input: object = {},
): Promise<{ readonly id: string; readonly token: string; readonly [member: string]: unknown }> {
  return mustCall(server, server.adminKey, 'create_capsule', { name: 'test', status: 'live', ...input });
}
