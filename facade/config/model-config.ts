import { z } from 'zod';
import { namesUser } from '../../resources/fields.ts';
import type { ModelSettings } from '../../tools/core/models/models.ts';
import type { ProviderSettings } from '../../tools/core/models/providers.ts';

const addressOf = (key: string) =>
  z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
    .refine((url) => !namesUser(url), `must hold no user and password; use ${key}`)
    .optional();

export const modelEnvironment = {
  MODEL_BASE_URL: addressOf('MODEL_API_KEY').describe(
    'OpenAI-compatible server of models, e.g. http://localhost:11434/v1; its models are `custom/<name>`.',
  ),
  MODEL_API_KEY: z.string().optional().describe('Key for MODEL_BASE_URL, where it needs one.'),
  MODEL_NAME: z
    .string()
    .max(190)
    .optional()
    .describe(
      'Model of MODEL_BASE_URL, else `openai/<name>` or `anthropic/<name>`: the default model of a new workspace. Default: `offline/rehearsal`.',
    ),
  EMBEDDING_MODEL: z
    .string()
    .max(190)
    .optional()
    .describe(
      'Model that search by meaning uses: `custom/<name>` of MODEL_BASE_URL, `openai/<name>`, or `<provider>/<name>` of a model provider of the workspace. Default: search by words alone.',
    ),
  OPENAI_API_KEY: z.string().optional().describe('Makes the models of OpenAI available as `openai/<name>`.'),
  OPENAI_BASE_URL: addressOf('OPENAI_API_KEY').describe(
    'Address of the API of OpenAI, of a proxy say. Default: `https://api.openai.com/v1`.',
  ),
  ANTHROPIC_API_KEY: z.string().optional().describe('Makes the models of Anthropic available as `anthropic/<name>`.'),
  ANTHROPIC_BASE_URL: addressOf('ANTHROPIC_API_KEY').describe(
    'Address of the API of Anthropic, of a proxy say. Default: `https://api.anthropic.com/v1`.',
  ),
};

type Variables = z.output<z.ZodObject<typeof modelEnvironment>>;
/** The values that the operator set, valid or not. */
type GivenVariables = { readonly [Name in keyof Variables]?: string | undefined };

/** What is wrong with the variables together, each as `name: problem`. */
export function modelProblems(given: GivenVariables): string[] {
  const problems: string[] = [];
  const { MODEL_BASE_URL: url, MODEL_API_KEY: key, MODEL_NAME: name } = given;
  if (key !== undefined && url === undefined) problems.push('MODEL_API_KEY: needs MODEL_BASE_URL');
  const [provider = '', model = ''] = name?.split(/\/(.*)/s) ?? [];
  const vendors = { openai: given.OPENAI_API_KEY, anthropic: given.ANTHROPIC_API_KEY };
  const known = Object.entries(vendors).some(([vendor, vendorKey]) => vendor === provider && vendorKey !== undefined);
  if (name !== undefined && url === undefined && (!known || model === '')) {
    problems.push('MODEL_NAME: needs MODEL_BASE_URL, or begins with openai/ or anthropic/ and needs the key of that');
  }
  problems.push(...embeddingProblems(given));
  return problems;
}

function embeddingProblems({ EMBEDDING_MODEL: id, MODEL_BASE_URL, ANTHROPIC_API_KEY }: GivenVariables): string[] {
  if (id === undefined) return [];
  const [provider = '', name = ''] = id.split(/\/(.*)/s);
  if (provider === '' || name === '' || provider === 'offline') {
    return ['EMBEDDING_MODEL: is <provider>/<name>, like custom/<name>, openai/<name> or that of a model provider'];
  }
  if (provider === 'custom' && MODEL_BASE_URL === undefined)
    return ['EMBEDDING_MODEL: with custom/ needs MODEL_BASE_URL'];
  const isAnthropic = provider === 'anthropic' && ANTHROPIC_API_KEY !== undefined;
  return isAnthropic ? ['EMBEDDING_MODEL: Anthropic has no embedding models; use those of another provider'] : [];
}

export function modelSettings(given: Variables): ModelSettings {
  const { MODEL_BASE_URL: baseUrl, MODEL_API_KEY, MODEL_NAME: name, OPENAI_API_KEY, ANTHROPIC_API_KEY } = given;
  const [vendor, model = ''] = name?.split(/\/(.*)/s) ?? [];
  const addresses = { openai: given.OPENAI_BASE_URL, anthropic: given.ANTHROPIC_BASE_URL };
  const vendorOf = (kind: 'openai' | 'anthropic', apiKey: string | undefined): ProviderSettings[] =>
    apiKey === undefined
      ? []
      : [
          {
            kind,
            apiKey,
            ...(addresses[kind] !== undefined && { baseUrl: addresses[kind] }),
            models: baseUrl === undefined && vendor === kind ? [model] : [],
          },
        ];
  const models = name === undefined ? [] : [name];
  return {
    providers: [
      ...(baseUrl === undefined ? [] : [{ kind: 'custom' as const, baseUrl, apiKey: MODEL_API_KEY, models }]),
      ...vendorOf('openai', OPENAI_API_KEY),
      ...vendorOf('anthropic', ANTHROPIC_API_KEY),
    ],
    embedding: given.EMBEDDING_MODEL,
    initial: name === undefined || baseUrl === undefined ? name : `custom/${name}`,
  };
}
