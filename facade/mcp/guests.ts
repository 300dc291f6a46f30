import { INVALID_PARAMS, type Result } from '@modelcontextprotocol/server';
import type { Principal } from '../../tools/core/access/principal.ts';
import { seesTool } from '../../tools/core/access/reach.ts';
import type { Registry } from '../../tools/core/registry/registry.ts';
import type { Served, ServedPrompt, ServedResources } from '../../tools/core/registry/tool.ts';
import type { RequestContext } from '../http/request-context.ts';
import { callTool, questionsIn, resultOrQuestions } from './calls.ts';
import { RpcError } from './message.ts';

interface Guest<Kind extends Served> {
  readonly tool: string;
  readonly serves: Kind;
}

export function guestPrompts(registry: Registry, principal: Principal): Guest<ServedPrompt>[] {
  return guests(registry, principal).flatMap(({ tool, serves }) =>
    serves.kind === 'prompt' ? [{ tool, serves }] : [],
  );
}

export function guestResources(
  registry: Registry,
  principal: Principal,
  verb: ServedResources['verb'],
): Guest<ServedResources>[] {
  return guests(registry, principal).flatMap(({ tool, serves }) =>
    serves.kind === 'resources' && serves.verb === verb ? [{ tool, serves }] : [],
  );
}

function guests({ server }: Registry, principal: Principal): Guest<Served>[] {
  return server.catalog.entries.flatMap(({ tool }) =>
    tool.serves && seesTool(principal, tool) ? [{ tool: tool.name, serves: tool.serves }] : [],
  );
}

export function shownPrompt({ name, title, description, arguments: takes }: ServedPrompt) {
  return {
    name,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    arguments: takes,
  };
}

/** Calls what the registry knows by this name; questions to the caller are passed on as for a tool. @throws RpcError */
export async function callGuest(
  registry: Registry,
  context: RequestContext,
  { tool, input, failure }: { readonly tool: string; readonly input: object; readonly failure: ToRpcError },
): Promise<Result> {
  const questions = questionsIn(context);
  const answer = await callTool(registry, context, { name: tool, arguments: input, questions });
  if (answer.ok) return { ...answer.output };
  const result = answer.wants && resultOrQuestions(answer, questions);
  if (result?.resultType === 'input_required') return result;
  throw failure(answer.error);
}

type ToRpcError = (error: Extract<Awaited<ReturnType<typeof callTool>>, { ok: false }>['error']) => RpcError;

const SCHEME = 'integration://';

/** The address here of a resource of an integration. */
export function guestUri(prefix: string, uri: string): string {
  return `${SCHEME}${prefix}/${encodeURIComponent(uri)}`;
}

/** A template is not encoded: the values that clients put into it are, as its server expects them. */
export function guestTemplate(prefix: string, uriTemplate: string): string {
  return `${SCHEME}${prefix}/${uriTemplate}`;
}

/** The integration and its resource that the address names. Undefined if it is not an address of an integration. */
export function parseGuestUri(uri: string): { readonly prefix: string; readonly uri: string } | undefined {
  if (!uri.startsWith(SCHEME)) return undefined;
  const [prefix = '', ...rest] = uri.slice(SCHEME.length).split('/');
  const given = rest.join('/');
  if (/^[A-Za-z][A-Za-z0-9+.-]*:/.test(given)) return { prefix, uri: given };
  try {
    return { prefix, uri: decodeURIComponent(given) };
  } catch {
    throw new RpcError(INVALID_PARAMS, 'The URI has a % that begins no encoded character.', { uri });
  }
}

/** One page of the resources of an integration. A server that does not answer, or wants an account first, has none. */
export async function guestPage(
  registry: Registry,
  context: RequestContext,
  { tool, serves }: Guest<ServedResources>,
  cursor: string | undefined,
): Promise<{ resources: object[]; cursor: string | null }> {
  const input = cursor === undefined ? {} : { cursor };
  const answer = await callTool(registry, context, { name: tool, arguments: input });
  if (!answer.ok) return { resources: [], cursor: null };
  const page = answer.output as { resources: { uri: string }[]; nextCursor: string | null }; // declared by the entry
  const resources = page.resources.map((each) => ({ ...each, uri: guestUri(serves.prefix, each.uri) }));
  return { resources, cursor: page.nextCursor };
}
