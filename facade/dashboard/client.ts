import { CallError, type ErrorBody } from './call-error.ts';
import { askIdentity } from './identity.ts';
import { type CallOptions, request } from './transport.ts';

export { CallError, type Issue } from './call-error.ts';

/**
 * Calls a tool with the rights of the session. Resolves to its structured content. Where a fresh sign-in is needed, the person is asked for
 * it and the call is made again.
 * @throws CallError
 */
export function call<Output = Readonly<Record<string, unknown>>>(
  tool: string,
  input: object = {},
  options: CallOptions = {},
): Promise<Output> {
  return confirmed(() => callOnce<Output>(tool, input, options));
}

/** Runs `work`. Where that needs a fresh sign-in, asks for it and runs `work` again. @throws CallError */
export async function confirmed<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof CallError) || !error.required?.freshSignIn || !(await askIdentity())) throw error;
    return confirmed(work);
  }
}

async function callOnce<Output>(tool: string, input: object, options: CallOptions): Promise<Output> {
  const result = (await request(
    'tools/call',
    { name: tool, arguments: input },
    { ...options, name: tool },
  )) as ToolResult;
  return outputIn(tool, result) as Output; // declared by the tool
}

/** What came of a call. Those of integrations answer content. @throws CallError */
export function outputIn(tool: string, result: ToolResult): object {
  const text = result.content?.find(({ type }) => type === 'text')?.text ?? '';
  if (result.isError) throw new CallError(tool, errorIn(text));
  return result.structuredContent ?? result;
}

export interface ToolResult {
  readonly content?: readonly { readonly type: string; readonly text?: string }[];
  readonly structuredContent?: object;
  readonly isError?: boolean;
}

/** Tools of integrations answer errors in words of their own. */
function errorIn(text: string): ErrorBody {
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body === 'object' && body !== null && 'code' in body) return body as ErrorBody; // as every tool answers
  } catch {
    // no JSON: the text itself says what is wrong
  }
  return { error: text, code: 'failed' };
}
