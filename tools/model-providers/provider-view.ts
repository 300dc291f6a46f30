import { SECRET_MASK } from '../../resources/integration.ts';
import type { ModelProviderRecord, ModelProviderView } from '../../resources/model-provider.ts';
import type { KnownProvider, Models } from '../core/models/models.ts';

const MASK: typeof SECRET_MASK = SECRET_MASK;
const ENVIRONMENT = 'env_';

export function showProvider({ headers, apiKey, ...record }: ModelProviderRecord, models: Models): ModelProviderView {
  const names = Object.keys(headers ?? {});
  return {
    ...record,
    ...(apiKey !== undefined && { apiKey: MASK }),
    ...(headers && { headers: Object.fromEntries(names.map((name) => [name, MASK])) }),
    source: 'record',
    ...stateOf(record, models),
  };
}

type State = Pick<ModelProviderView, 'status' | 'problem' | 'latencyMs'>;

function stateOf({ id, name, enabled }: Pick<ModelProviderRecord, 'id' | 'name' | 'enabled'>, models: Models): State {
  if (!enabled) return { status: 'disabled' };
  if (models.environment().some(({ provider }) => provider.name === name)) {
    return { status: 'down', problem: 'The environment of the server has a provider of this name, which comes first.' };
  }
  const known = models.provider(id);
  if (known) return stateFrom(known);
  return {
    status: 'down',
    problem: 'Its secrets cannot be read with the SECRETS_KEY of this server; give them again.',
  };
}

function stateFrom({ last }: KnownProvider): State {
  if (!last) return { status: 'unknown' };
  const problem = last.problem && `${last.problem[0]?.toUpperCase()}${last.problem.slice(1)}.`;
  return { status: last.up ? 'ok' : 'down', latencyMs: last.latencyMs, ...(problem && { problem }) };
}

/** Providers of the environment, as read-only records. */
export function showEnvironment(models: Models): ModelProviderView[] {
  return models.environment().map((known) => {
    const { name, kind, baseUrl, configured } = known.provider;
    return {
      id: `${ENVIRONMENT}${name}`,
      name,
      kind: kind === 'custom' ? 'openai-compatible' : kind,
      baseUrl,
      ...(configured.length > 0 && { models: configured.map(({ name: model }) => ({ name: model })) }),
      enabled: true,
      source: 'environment',
      ...stateFrom(known),
    };
  });
}

export function environmentProvider(id: string, models: Models): KnownProvider | undefined {
  if (!id.startsWith(ENVIRONMENT)) return undefined;
  return models.environment().find(({ provider }) => provider.name === id.slice(ENVIRONMENT.length));
}
