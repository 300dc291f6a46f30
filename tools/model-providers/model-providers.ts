import { z } from 'zod';
import { expectedRevision, pageOf, paging, recordId } from '../../resources/fields.ts';
import { refTo } from '../../resources/markers.ts';
import {
  modelProviderFields as fields,
  type ModelProviderRecord,
  modelProvider,
  modelProviderTest,
} from '../../resources/model-provider.ts';
import { newId } from '../../store/ids.ts';
import type { Readers } from '../../store/port.ts';
import { requireWithinRights } from '../core/access/delegation.ts';
import type { Principal } from '../core/access/principal.ts';
import { whereAllowed } from '../core/access/record-limit.ts';
import { ToolError } from '../core/errors.ts';
import type { Models } from '../core/models/models.ts';
import type { ServerContext } from '../core/registry/context.ts';
import { CREATES, DELETES, defineTool, type Fail, OUTSIDE, READS, UPDATES } from '../core/registry/define-tool.ts';
import { listPage } from '../core/registry/paging.ts';
import type { SecretBox } from '../core/sealing/secrets.ts';
import { keepPrices, requireCounted } from './keep-prices.ts';
import {
  given,
  requireAddress,
  requireAllowed,
  requireDistinct,
  requireFreeName,
  requireUnused,
} from './provider-checks.ts';
import { settingsFor } from './provider-records.ts';
import { environmentProvider, showEnvironment, showProvider } from './provider-view.ts';
import { requireOwnSecrets, sealedSecrets } from './secrets.ts';
import { testProvider } from './test-provider.ts';

const providerId = refTo('model-provider', recordId).describe('Provider id (`mdp_…`), see list_model_providers.');
const MOST_PROVIDERS = 50;

const listModelProviders = defineTool({
  name: 'list_model_providers',
  title: 'List model providers',
  description:
    'List the providers of models with their state, also those of the environment, which are read-only. For models use list_models.',
  keywords:
    'OpenAI account, Anthropic key, Ollama server, LLM vendors, which API keys for models are set, is the model provider up, AI vendors, connected LLM providers',
  access: { scope: 'settings:read', grant: 'model-provider:read', narrows: true },
  annotations: READS,
  input: z.strictObject(paging),
  output: pageOf(modelProvider),
  errors: [],

  async handler(input, { store, principal, server: { models } }) {
    const limited = principal.rights.limitedTo('model-provider', 'read');
    const any = whereAllowed<ModelProviderRecord>(limited, 'id');
    const page = await listPage(store.modelProviders, input, { any }, (record) => showProvider(record, models));
    const fixed = any || input.cursor !== undefined ? [] : showEnvironment(models);
    return { ...page, data: [...fixed, ...page.data] };
  },
});

const createModelProvider = defineTool({
  name: 'create_model_provider',
  title: 'Create model provider',
  description:
    'Add OpenAI, Anthropic, Google, Azure, Bedrock or any OpenAI-compatible server of models; test_model_provider tells whether it works. Needs full access. Returns it.',
  keywords:
    'add an API key for OpenAI, connect Claude, Gemini, Ollama, vLLM, OpenRouter, Mistral, local model, LLM vendor, set up a model, new AI provider, use our own model server',
  access: { scope: 'admin', grant: 'model-provider:write', fullAccess: true },
  annotations: { ...CREATES, ...OUTSIDE },
  inSteps: true,
  input: z.strictObject({
    name: fields.name.describe('Its models are `<name>/<model>`. Unique.'),
    kind: fields.kind.describe('`openai-compatible`: Ollama, vLLM, OpenRouter and the like.'),
    apiKey: fields.apiKey.optional(),
    baseUrl: fields.baseUrl
      .describe(
        'Of its API, like http://127.0.0.1:11434/v1. Required for openai-compatible, azure (https://<resource>.openai.azure.com/openai) and bedrock (https://bedrock-runtime.<region>.amazonaws.com).',
      )
      .optional(),
    headers: fields.headers.optional(),
    models: fields.models.describe('To offer besides those it lists, and their limits.').optional(),
    prices: fields.prices.describe('Same form as in update_settings; prices there take precedence.').optional(),
    enabled: fields.enabled.default(true),
  }),
  output: modelProvider,
  errors: ['conflict'],

  async handler({ apiKey, headers, ...input }, { principal, server, write, fail }) {
    requireOperator(principal, fail);
    requireFreeName(input.name, server.models);
    requireAddress(input);
    requireDistinct(input);
    await requireAllowed(input.baseUrl, server);
    const id = newId('mdp');
    const sealed = { ...input, ...(sealedSecrets(id, { apiKey, headers }, boxOf(server)) as SealedOnly) };
    const record = await write(async (store) => {
      if ((await store.modelProviders.count({})) >= MOST_PROVIDERS) {
        throw fail('conflict', `There are ${MOST_PROVIDERS} model providers, which is the limit; delete one first.`);
      }
      await requireCounted(input, { store, now: server.now(), fail });
      return store.modelProviders.insert({ ...sealed, id, createdBy: principal.id });
    });
    return showProvider(record, server.models);
  },
});

/** Nothing was stored before, so nothing is removed. */
type SealedOnly = Pick<ModelProviderRecord, 'apiKey' | 'headers'>;

const updateModelProvider = defineTool({
  name: 'update_model_provider',
  title: 'Update model provider',
  description: `Change a model provider. Another kind or origin needs the secrets again. Needs full access. Returns it.`,
  keywords:
    'rotate the OpenAI key, change the API key of a model vendor, disable a model provider, other base URL, model prices of a provider, context limit',
  access: { scope: 'admin', grant: 'model-provider:write:{id}', fullAccess: true },
  annotations: { ...UPDATES, ...OUTSIDE },
  inSteps: true,
  input: z.strictObject({
    id: providerId,
    name: fields.name.optional(),
    kind: fields.kind.optional(),
    apiKey: fields.apiKey.nullable().optional(),
    baseUrl: fields.baseUrl.nullable().optional(),
    headers: fields.headers.optional(),
    models: fields.models.optional(),
    prices: fields.prices.optional(),
    enabled: fields.enabled.optional(),
    expectedRevision,
  }),
  output: modelProvider,
  errors: ['not_found', 'conflict'],

  async handler({ id, expectedRevision: expected, ...change }, { store, principal, server, write, fail }) {
    requireOperator(principal, fail);
    requireStored(id, server.models, fail);
    await findProvider(store, id, fail);
    requireDistinct(change);
    await requireAllowed(change.baseUrl, server);
    const record = await write(async (writers) => {
      const current = await findProvider(writers, id, fail);
      requireAddress({ kind: change.kind ?? current.kind, baseUrl: given(change.baseUrl, current.baseUrl) });
      requireOwnSecrets(current, change);
      if (change.name !== undefined && change.name !== current.name) {
        requireFreeName(change.name, server.models);
        await requireUnused(current.name, { store: writers, models: server.models, fail });
        await keepPrices(current, { store: writers, now: server.now(), fail });
      }
      const { name = current.name, prices = current.prices } = change;
      await requireCounted({ name, prices }, { before: current, store: writers, now: server.now(), fail });
      const { apiKey: _, headers: __, ...open } = change;
      const sealed = sealedSecrets(id, change, boxOf(server), current);
      return writers.modelProviders.update(id, { ...open, ...sealed }, { expectedRevision: expected });
    });
    return showProvider(record, server.models);
  },
});

const deleteModelProvider = defineTool({
  name: 'delete_model_provider',
  title: 'Delete model provider',
  description:
    'Delete a model provider for good, with its key. Refused while an agent or the default model uses it. Its prices stay, in the settings. Needs full access.',
  keywords: 'remove an LLM vendor, forget the OpenAI key, disconnect Ollama',
  access: { scope: 'admin', grant: 'model-provider:write:{id}', fullAccess: true },
  annotations: DELETES,
  inSteps: true,
  input: z.strictObject({ id: providerId, expectedRevision }),
  output: z.object({}),
  errors: ['not_found', 'conflict'],

  async handler({ id, expectedRevision: expected }, { principal, server, write, fail }) {
    requireOperator(principal, fail);
    requireStored(id, server.models, fail);
    await write(async (writers) => {
      const current = await findProvider(writers, id, fail);
      await requireUnused(current.name, { store: writers, models: server.models, fail });
      await keepPrices(current, { store: writers, now: server.now(), fail });
      await writers.modelProviders.delete(id, { expectedRevision: expected });
    });
    return {};
  },
});

const testModelProvider = defineTool({
  name: 'test_model_provider',
  title: 'Test model provider',
  description:
    'Ask a model provider for its models and one tiny answer, and say in words what is wrong and what to do. Needs full access.',
  keywords:
    'check an API key, does the key work, is Ollama reachable, why does the model not answer, try a model, verify LLM connection, quota used up',
  access: { scope: 'admin', grant: 'model-provider:write:{id}', fullAccess: true },
  annotations: { ...UPDATES, ...OUTSIDE, idempotentHint: false },
  inSteps: true,
  input: z.strictObject({
    id: providerId,
    model: z
      .string()
      .trim()
      .min(1)
      .max(200)
      .optional()
      .describe('As the provider names it. Default: the first of its models.'),
  }),
  output: modelProviderTest,
  errors: ['not_found'],

  async handler({ id, model }, { store, principal, server, signal, fail }) {
    requireOperator(principal, fail);
    const known = environmentProvider(id, server.models);
    if (known) {
      const tested = await testProvider({ provider: known.provider, model, signal });
      noteTest(server.models, { name: known.provider.name }, tested);
      return tested.answer;
    }
    const record = await findProvider(store, id, fail);
    const tested = await testProvider({ ...readable(record, server), model, signal });
    noteTest(server.models, { recordId: id }, tested);
    return tested.answer;
  },
});

export const modelProviderTools = [
  listModelProviders,
  createModelProvider,
  updateModelProvider,
  deleteModelProvider,
  testModelProvider,
];

function noteTest(
  models: Models,
  of: Parameters<Models['noteTest']>[0],
  { answer: { latencyMs, problem }, isUp }: Awaited<ReturnType<typeof testProvider>>,
): void {
  if (isUp === undefined) return;
  models.noteTest(of, { up: isUp, latencyMs, ...(problem !== undefined && { problem: problem.replace(/\.$/, '') }) });
}

function readable(record: ModelProviderRecord, server: ServerContext) {
  try {
    const privateAddresses = server.privateAddresses ?? false;
    return { settings: settingsFor(record, { secrets: boxOf(server), privateAddresses }), privateAddresses };
  } catch {
    const message = 'Its secrets cannot be read with the SECRETS_KEY of this server; give them again.';
    throw new ToolError('unavailable', message);
  }
}

/** Whoever sets up a provider reads what people say to models and decides what models answer. @throws ToolError */
function requireOperator(principal: Principal, fail: Fail<never>): void {
  requireWithinRights(principal, { fullAccess: true });
  if (principal.type === 'session' || principal.type === 'api-key') return;
  throw fail('forbidden', 'Insufficient permissions', {
    issues: [{ path: '', message: `Model providers are never managed by a principal of the type ${principal.type}.` }],
  });
}

function boxOf({ secrets }: ServerContext): SecretBox {
  if (!secrets) throw new ToolError('unavailable', 'This process keeps no secrets; ask the server.');
  return secrets;
}

function requireStored(id: string, models: Models, fail: Fail<'conflict'>): void {
  if (!environmentProvider(id, models)) return;
  throw fail('conflict', `The provider ${id} comes from the environment of the server; the operator changes it there.`);
}

async function findProvider(store: Pick<Readers, 'modelProviders'>, id: string, fail: Fail<'not_found'>) {
  const record = await store.modelProviders.get(id);
  if (!record) throw fail('not_found', `There is no model provider ${id}; list_model_providers shows them all.`);
  return record;
}
