import type { Agent } from '../../resources/agent.ts';
import type { Answer } from '../../tools/core/registry/call.ts';
import type { Registry } from '../../tools/core/registry/registry.ts';
import { requireKnownParameters } from '../http/endpoints.ts';
import type { RequestContext } from '../http/request-context.ts';
import { sendJson } from '../http/respond.ts';
import { noModel, sendFailure } from './errors.ts';

type ShownAgent = Pick<Agent, 'id' | 'name' | 'displayName' | 'createdAt'>;

export interface AgentPage {
  readonly data: readonly ShownAgent[];
  readonly nextCursor: string | null;
}

/** Agents of a page, and how many pages are read at most. */
const PAGE = 100;
const MOST_PAGES = 20;

export async function listModels(registry: Registry, context: RequestContext): Promise<void> {
  const { response, url } = context;
  requireKnownParameters(url, []);
  await context.beforeCall();
  const data: object[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MOST_PAGES; page++) {
    const answer = await askForAgents(registry, context, { limit: PAGE, ...(cursor !== undefined && { cursor }) });
    if (!answer.ok) return sendFailure(response, answer);
    const { data: agents, nextCursor } = answer.output as AgentPage; // as the tool declares it
    data.push(...agents.map((agent) => modelOf(agent, registry)));
    if (nextCursor === null) break;
    cursor = nextCursor;
  }
  sendJson(response, 200, { object: 'list', data });
}

export async function showModel(registry: Registry, context: RequestContext): Promise<void> {
  const { response, url, parameters } = context;
  requireKnownParameters(url, []);
  await context.beforeCall();
  const { id = '' } = parameters;
  const answer = await askForAgents(registry, context, { name: id, limit: 1 });
  if (!answer.ok) return answer.error.code === 'invalid_input' ? noModel(response, id) : sendFailure(response, answer);
  const [agent] = (answer.output as AgentPage).data; // as the tool declares it
  if (agent) sendJson(response, 200, modelOf(agent, registry));
  else noModel(response, id);
}

/** Those that the caller may invoke; which these are, the tool decides. */
export function askForAgents(registry: Registry, context: RequestContext, input: object): Promise<Answer> {
  const { request, principal, requestId } = context;
  return registry.call({
    principal,
    tool: 'list_agents',
    input: { ...input, invocable: true },
    door: 'openai',
    requestId,
    client: request.headers['user-agent'],
    checkCredential: () => context.checkCredential(),
  });
}

function modelOf({ name: id, displayName: name, createdAt }: ShownAgent, { server }: Registry) {
  const created = Math.floor(Date.parse(createdAt) / 1000);
  return { id, object: 'model', created, owned_by: server.name, name };
}
