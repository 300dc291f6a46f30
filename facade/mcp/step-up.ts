import { scopesToAskFor } from '../../tools/core/access/step-up.ts';
import type { Registry } from '../../tools/core/registry/registry.ts';
import type { RequestContext } from '../http/request-context.ts';
import { type CallParams, callTool } from './calls.ts';
import { isObject, isRequestId, type RequestId } from './message.ts';
import { isModern } from './protocol-versions.ts';
import { type ResponseWriter, sendJsonText } from './response-writer.ts';

interface StepUpDeps {
  readonly registry: Registry;
  readonly writer: ResponseWriter;
}

/**
 * Answers a call that an app may not make although its person may: HTTP 403 names the scopes to ask for. It is known before the answer
 * begins, since a stream begins with 200.
 */
export function refuseForMore(parts: StepUpDeps, context: RequestContext, message: unknown): Promise<void> | undefined {
  const call = callIn(message);
  return call && asksForMore(parts, context, call) ? refuse(parts, context, call) : undefined;
}

interface RequestedCall extends CallParams {
  readonly id: RequestId;
}

function callIn(message: unknown): RequestedCall | undefined {
  if (!isObject(message) || message.method !== 'tools/call' || !isObject(message.params)) return undefined;
  const { name, arguments: given = {} } = message.params;
  if (!isRequestId(message.id) || typeof name !== 'string' || !isObject(given)) return undefined;
  return { id: message.id, name, arguments: given };
}

function asksForMore(
  { registry }: StepUpDeps,
  { principal }: RequestContext,
  { name, arguments: given }: CallParams,
): boolean {
  const tool = registry.find(name);
  if (!tool?.delegatesTo) return tool !== undefined && scopesToAskFor(principal, tool, given) !== undefined;
  const { data } = tool.input.safeParse(given);
  const meant = data && tool.delegatesTo(data);
  const other = meant && registry.find(meant.tool);
  return other !== undefined && isObject(meant?.input) && scopesToAskFor(principal, other, meant.input) !== undefined;
}

/** The call is made, so that it is refused and audited as any other. */
async function refuse({ registry, writer }: StepUpDeps, context: RequestContext, call: RequestedCall): Promise<void> {
  const era = isModern(context) ? 'modern' : 'legacy';
  const answer = await callTool(registry, context, call);
  const askFor = answer.ok ? undefined : answer.askFor;
  if (askFor) await context.askFor(askFor);
  sendJsonText(context.response, askFor ? 403 : 200, writer.toolResult(answer, call.id, era));
}
