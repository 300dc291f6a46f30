import { ToolError } from '../errors.ts';
import { loadPackage } from '../load-package.ts';
import type { LanguageModel } from './language-model.ts';
import { lazy, type ProviderAdapter, type ProviderOptions } from './provider-adapter.ts';

/** Providers whose packages are large and seldom wanted, so that whoever wants them installs them. */

interface Settings {
  readonly baseURL?: string;
  readonly apiKey?: string;
  readonly region?: string;
  readonly headers: Record<string, string>;
  readonly fetch: ProviderOptions['fetch'];
}
type Maker = (settings: Settings) => (name: string) => LanguageModel;

/** Versions that fit the library in use. */
const PACKAGES = { '@ai-sdk/google': '3', '@ai-sdk/azure': '3', '@ai-sdk/amazon-bedrock': '4' } as const;

/** @throws ToolError (unavailable) that names what to install */
async function optional(name: keyof typeof PACKAGES, maker: string): Promise<Maker> {
  const library = await loadPackage(name, () => import(name) as Promise<Record<string, Maker>>).catch((cause) => {
    const message = `This server lacks the package ${name}; install it beside the server (npm install ${name}@${PACKAGES[name]}) and restart.`;
    throw new ToolError('unavailable', message, {}, cause);
  });
  const found = library[maker];
  if (!found) throw new ToolError('unavailable', `The package ${name} is not version ${PACKAGES[name]}; install that.`);
  return found;
}

export function google({ name: provider, apiKey = '', headers, baseURL, fetch }: ProviderOptions): ProviderAdapter {
  const load = async (name: string) =>
    (await optional('@ai-sdk/google', 'createGoogleGenerativeAI'))({ baseURL, apiKey, headers: { ...headers }, fetch })(
      name,
    );
  return {
    title: 'Google',
    model: (name) => lazy(provider, name, load),
    listing: { url: `${baseURL}/models?pageSize=100`, headers: { 'x-goog-api-key': apiKey, ...headers } },
    talks: (name) => /^gemini-|^gemma-/.test(name) && !/embedding|image|tts|audio|live/.test(name),
  };
}

export function azure({ name: provider, apiKey = '', headers, baseURL, fetch }: ProviderOptions): ProviderAdapter {
  const load = async (name: string) => {
    const make = await optional('@ai-sdk/azure', 'createAzure');
    const made = make({ baseURL, apiKey, headers: { ...headers }, fetch }) as ReturnType<Maker> & {
      chat(deployment: string): LanguageModel;
    };
    return made.chat(name); // the form that all deployments take
  };
  return { title: 'Azure', model: (name) => lazy(provider, name, load), talks: () => true };
}

export function bedrock({ name: provider, apiKey = '', headers, baseURL, fetch }: ProviderOptions): ProviderAdapter {
  const [, region = 'us-east-1'] = /bedrock-runtime\.([a-z0-9-]+)\./.exec(baseURL) ?? [];
  const load = async (name: string) =>
    (await optional('@ai-sdk/amazon-bedrock', 'createAmazonBedrock'))({
      baseURL,
      region,
      apiKey,
      headers: { ...headers },
      fetch,
    })(name);
  return { title: 'Amazon Bedrock', model: (name) => lazy(provider, name, load), talks: () => true };
}
