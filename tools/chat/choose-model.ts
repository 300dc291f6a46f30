import type { Agent } from '../../resources/agent.ts';
import type { Readers } from '../../store/port.ts';
import type { Principal } from '../core/access/principal.ts';
import { nearest } from '../core/access/similar-names.ts';
import { invalidMember } from '../core/errors.ts';
import type { LanguageModel } from '../core/models/language-model.ts';
import type { Models } from '../core/models/models.ts';
import type { Fail } from '../core/registry/define-tool.ts';
import { readBotConfig } from '../settings/bot-config.ts';

type Refuse = Fail<'not_found' | 'conflict'>;

/** The agent, if it can work. @throws not_found, conflict if it is paused or deleted */
export async function findAgentToRun(store: Pick<Readers, 'agents'>, id: string, fail: Refuse): Promise<Agent> {
  const agent = await store.agents.get(id);
  if (!agent) {
    const message = `There is no agent ${id}; list_agents shows the ones you can see.`;
    throw fail('not_found', message, { issues: NOT_ACTIVE });
  }
  if (agent.status === 'active') return agent;
  const message = `The agent ${agent.name} is ${agent.status} and takes no work; update_agent {status: "active"} changes that.`;
  throw fail('conflict', message, { issues: NOT_ACTIVE });
}

const NOT_ACTIVE = [{ path: 'agent', message: 'Give an active agent, see list_agents.' }];

/** Where the call did not name the agent, its access rule could not check it, so it is checked here. @throws forbidden */
export function requireInvoke({ rights }: Principal, agent: Agent | undefined, fail: Fail<never>): void {
  const need = { resource: 'agent', op: 'invoke', ...(agent && { ids: [agent.id, agent.name], record: agent }) };
  if (rights.allows({ scope: 'chat:write', needs: [need] })) return;
  const grant = agent ? `agent:invoke:${agent.id}` : 'agent:invoke';
  throw fail('forbidden', 'Insufficient permissions', { required: { scope: 'chat:write', grant } });
}

export interface ChosenModel {
  readonly id: string;
  readonly model: LanguageModel;
  readonly maxOutputTokens?: number | undefined;
  /** Asked in turn where it does not answer. None where the call names the model. */
  readonly fallbacks: readonly Omit<ChosenModel, 'fallbacks'>[];
}

/** The model of the call, else the agent's preference, else that of the bot config. */
export async function chooseModel(
  { store, models, fail }: { store: Pick<Readers, 'botConfigs'>; models: Models; fail: Fail<'conflict'> },
  asked: string | undefined,
  agent: Agent | undefined,
): Promise<ChosenModel> {
  const id = asked ?? agent?.modelPreference ?? (await readBotConfig(store)).defaultModel;
  const found = modelOf(id, models);
  if (found) {
    const others = asked === undefined ? (agent?.fallbackModels ?? []) : [];
    const fallbacks = others.filter((each) => each !== id).flatMap((each) => modelOf(each, models) ?? []);
    return { ...found, fallbacks };
  }
  const close = nearest(id, models.known(), 3);
  const hint = `list_models shows those there are${close.length > 0 ? `, such as ${close.join(', ')}` : ''}`;
  if (asked !== undefined) {
    throw invalidMember('model', `There is no model ${JSON.stringify(id)}; ${hint}.`);
  }
  const whose = agent?.modelPreference ? `The agent ${agent.name} prefers the model` : 'The default model is';
  throw fail(
    'conflict',
    `${whose} ${JSON.stringify(id)}, which this server does not have; ${hint}. Give \`model\`, or change that.`,
  );
}

function modelOf(id: string, models: Models): Omit<ChosenModel, 'fallbacks'> | undefined {
  const model = models.find(id);
  return model && { id, model, maxOutputTokens: models.limitsOf(id)?.maxOutputTokens };
}

/** The models in the form in which a run takes them. */
export function modelsOfTask({ model, fallbacks, maxOutputTokens: modelLimit }: ChosenModel) {
  return { model, fallbacks, modelLimit };
}
