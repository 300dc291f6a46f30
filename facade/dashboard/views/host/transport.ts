import { CallError } from '../../call-error.ts';
import type { ToolResult } from '../../client.ts';
import type * as real from '../../transport.ts';
import { ask } from '../bridge.ts';

/** Calls go through the host, with the rights that it has. */
export const request: typeof real.request = async (method, params, { name = method } = {}) => {
  try {
    return withStructure((await ask(method, { ...params })) as ToolResult); // the pages call tools alone
  } catch (error) {
    throw new CallError(name, { error: error instanceof Error ? error.message : String(error), code: 'failed' });
  }
};

/** The result of a tool with its structured content, which hosts may leave out: it is in the text, too. */
export function withStructure(result: ToolResult): ToolResult {
  if (result.structuredContent || result.isError) return result;
  const text = result.content?.find(({ type }) => type === 'text')?.text ?? '';
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === 'object' && parsed !== null ? { ...result, structuredContent: parsed } : result;
  } catch {
    return result; // words of an integration
  }
}
