import type { Agent } from '../../resources/agent.ts';
import type { AgentRunRecord } from '../../resources/agent-run.ts';
import type { ModelInput } from '../../resources/model-provider.ts';
import type { ThreadRecord } from '../../resources/thread.ts';
import type { Readers } from '../../store/port.ts';
import type { Principal } from '../core/access/principal.ts';
import { nearest } from '../core/access/similar-names.ts';
import { invalidMember } from '../core/errors.ts';
import type { LanguageModel } from '../core/models/language-model.ts';
import type { Models } from '../core/models/models.ts';
import type { Fail } from '../core/registry/define-tool.ts';
import { readBotConfig } from '../settings/bot-config.ts';
import { readSettings } from '../settings/settings.ts';

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

/** The agent of messages that name none. */
export async function usualAgentId(
  thread: Pick<ThreadRecord, 'agentIds'> | undefined,
  store: Pick<Readers, 'settings'>,
): Promise<string | undefined> {
  return thread?.agentIds?.[0] ?? (await readSettings(store)).defaultAgentId;
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
  readonly inputs: readonly ModelInput[];
  /** Asked in turn where it does not answer. */
  readonly fallbacks: readonly Omit<ChosenModel, 'fallbacks'>[];
}

interface ModelChoice {
  readonly model?: string | undefined;
  readonly fallbackModels?: readonly string[] | undefined;
  readonly maxTokens?: number | undefined;
}

/** What the call says of models. What it leaves open is as the call said whose run waited for a person, without models that are gone. */
export function modelChoice(
  { model, fallbackModels, maxTokens }: ModelChoice,
  continued: Pick<AgentRunRecord, 'resumesAs' | 'chosenModels'> | undefined,
  models: Models,
): ModelChoice {
  const before = continued?.resumesAs && continued.chosenModels;
  return {
    model: model ?? before?.model,
    fallbackModels: fallbackModels ?? before?.fallbackModels?.filter((id) => models.find(id)),
    maxTokens: maxTokens ?? before?.maxTokens,
  };
}

/** The models of the call, else those of the agent, else that of the bot config. */
export async function chooseModel(
  { store, models, fail }: { store: Pick<Readers, 'botConfigs'>; models: Models; fail: Fail<'conflict'> },
  { model: asked, fallbackModels }: ModelChoice,
  agent: Agent | undefined,
): Promise<ChosenModel> {
  const id = asked ?? agent?.modelPreference ?? (await readBotConfig(store)).defaultModel;
  const found = modelOf(id, models);
  if (found) {
    const missing = fallbackModels?.findIndex((each) => !models.find(each)) ?? -1;
    if (missing >= 0) throw noModel(`fallbackModels[${missing}]`, fallbackModels?.[missing] ?? '', models);
    const others = fallbackModels ?? agent?.fallbackModels ?? [];
    const fallbacks = others.filter((each) => each !== id).flatMap((each) => modelOf(each, models) ?? []);
    return { ...found, fallbacks };
  }
  if (asked !== undefined) throw noModel('model', id, models);
  const whose = agent?.modelPreference ? `The agent ${agent.name} prefers the model` : 'The default model is';
  throw fail(
    'conflict',
    `${whose} ${JSON.stringify(id)}, which this server does not have; ${hintFor(id, models)}. Give \`model\`, or change that.`,
  );
}

function noModel(path: string, id: string, models: Models) {
  return invalidMember(path, `There is no model ${JSON.stringify(id)}; ${hintFor(id, models)}.`);
}

function hintFor(id: string, models: Models): string {
  const close = nearest(id, models.known(), 3);
  return `list_models shows those there are${close.length > 0 ? `, such as ${close.join(', ')}` : ''}`;
}

function modelOf(id: string, models: Models): Omit<ChosenModel, 'fallbacks'> | undefined {
  const model = models.find(id);
  return model && { id, model, inputs: models.inputsOf(id), maxOutputTokens: models.limitsOf(id)?.maxOutputTokens };
}

/** The models in the form in which a run takes them. */
export function modelsOfTask({ model, inputs, fallbacks, maxOutputTokens: modelLimit }: ChosenModel) {
  return { model, inputs, fallbacks, modelLimit };
}
