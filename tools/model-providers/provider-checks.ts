import type { ModelProviderRecord } from '../../resources/model-provider.ts';
import type { Readers } from '../../store/port.ts';
import { invalidMember } from '../core/errors.ts';
import type { Models } from '../core/models/models.ts';
import { OFFLINE_MODEL } from '../core/models/offline-model.ts';
import { NEEDS_ADDRESS } from '../core/models/providers.ts';
import { addressRefusal } from '../core/outbound/ip-addresses.ts';
import type { ServerContext } from '../core/registry/context.ts';
import type { Fail } from '../core/registry/define-tool.ts';
import { allOf } from '../core/registry/paging.ts';
import { readBotConfig } from '../settings/bot-config.ts';

declare module '../core/registry/context.ts' {
  interface ServerContext {
    /** Whether model providers may be at private addresses. Absent: they may not. */
    readonly privateAddresses?: boolean;
  }
}

const [OFFLINE = ''] = OFFLINE_MODEL.id.split('/');
const RESERVED: readonly string[] = [OFFLINE, 'builtin', 'custom', 'agent'];

export function requireFreeName(name: string, models: Models): void {
  if (RESERVED.includes(name)) throw invalidMember('name', `name: ${name} is reserved; choose another.`);
  if (!models.environment().some(({ provider }) => provider.name === name)) return;
  throw invalidMember('name', `name: The environment of the server has a provider ${name}; choose another.`);
}

type Addressed = Pick<ModelProviderRecord, 'kind' | 'baseUrl'>;

export function requireAddress({ kind, baseUrl }: Addressed): void {
  if (baseUrl !== undefined || !NEEDS_ADDRESS.includes(kind)) return;
  throw invalidMember('baseUrl', `baseUrl: Is required for ${kind}; give the address of its API.`);
}

export async function requireAllowed(
  baseUrl: string | null | undefined,
  { privateAddresses }: ServerContext,
): Promise<void> {
  if (privateAddresses || !baseUrl) return;
  const refusal = await addressRefusal(new URL(baseUrl));
  if (refusal !== undefined) throw invalidMember('baseUrl', `baseUrl: ${refusal}`);
}

export function given<Value>(changed: Value | null | undefined, current: Value | undefined): Value | undefined {
  return changed === undefined ? current : (changed ?? undefined);
}

interface Listed {
  readonly models?: ModelProviderRecord['models'] | null | undefined;
  readonly prices?: ModelProviderRecord['prices'] | null | undefined;
}

export function requireDistinct({ models, prices }: Listed): void {
  const twice = (keys: readonly string[]) => keys.findIndex((key, at) => keys.indexOf(key) < at);
  const model = twice((models ?? []).map(({ name }) => name));
  if (model >= 0) throw invalidMember(`models[${model}]`, `models[${model}]: Is named before; name each once.`);
  const price = twice((prices ?? []).map(({ model: name, from }) => `${from} ${name}`));
  if (price >= 0) throw invalidMember(`prices[${price}]`, `prices[${price}]: Has the model and date of one before.`);
}

const MOST_NAMED = 5;

type UsesOfModels = Pick<Readers, 'agents' | 'botConfigs'>;

/** @throws ToolError that names what uses models of the provider */
export async function requireUnused(
  name: string,
  { store, models, fail }: { readonly store: UsesOfModels; readonly models: Models; readonly fail: Fail<'conflict'> },
): Promise<void> {
  const uses = (id: string | undefined) => id?.startsWith(`${name}/`) ?? false;
  const agents = await allOf(store.agents, { where: { status: ['active', 'paused'] } });
  const users = agents
    .filter(({ modelPreference, fallbackModels = [] }) => [modelPreference, ...fallbackModels].some(uses))
    .map((agent) => `agent ${agent.name}`);
  const named = [
    ...(uses(models.embedding) ? ['EMBEDDING_MODEL of the server'] : []),
    ...(uses((await readBotConfig(store)).defaultModel) ? ['default model of the bot config'] : []),
    ...users.slice(0, MOST_NAMED),
    ...(users.length > MOST_NAMED ? [`${users.length - MOST_NAMED} other agents`] : []),
  ];
  if (named.length === 0) return;
  throw fail('conflict', `Models of ${name} are in use: ${named.join(', ')}. Give those another model first.`);
}
