import { z } from 'zod';
import { OperatorError } from '../../store/errors.ts';

const environment = z.object({
  BASE_URL: z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }).default('http://127.0.0.1:3000'),
  API_KEY: z
    .string({ error: 'must hold an API key (the first start of the server prints one) or the token of a capsule' })
    .min(1),
  CAPSULE_ID: z.string().optional(),
  MODE: z.literal('search', { error: 'is search, for three tools that lead to all others, or not set' }).optional(),
});
type Environment = z.output<typeof environment>;

export interface ClientConfig {
  readonly mcpUrl: URL;
  readonly apiKey: string;
}

/** @throws OperatorError */
export function readClientConfig(env: NodeJS.ProcessEnv): ClientConfig {
  const given = Object.keys(environment.shape).map((name) => [name, env[name]?.trim() || undefined] as const);
  const { data, error } = environment.safeParse(Object.fromEntries(given));
  if (!data) throw invalid(error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`));
  const mcpUrl = new URL(data.BASE_URL);
  // The address may be that of the server, of its MCP endpoint or of a capsule's endpoint.
  const [, base = mcpUrl.pathname, inAddress] = ENDPOINT.exec(mcpUrl.pathname) ?? [];
  const problem = capsuleProblem(data, inAddress);
  if (problem !== undefined) throw invalid([problem]);
  const id = data.CAPSULE_ID ?? inAddress;
  const path = id === undefined ? 'v1/mcp' : `capsules/${encodeURIComponent(id)}/mcp`;
  mcpUrl.pathname = `${base.replace(/\/+$/, '')}/api/${path}`;
  if (data.MODE) mcpUrl.searchParams.set('mode', data.MODE);
  return { mcpUrl, apiKey: data.API_KEY };
}

const ENDPOINT = /^(.*)\/api\/(?:v1|capsules\/([^/]+))\/mcp\/*$/;

function capsuleProblem({ API_KEY, CAPSULE_ID }: Environment, inAddress: string | undefined): string | undefined {
  const id = CAPSULE_ID ?? inAddress;
  const isToken = API_KEY.startsWith('cpt_');
  if (isToken && id === undefined) {
    return 'API_KEY: is the token of a capsule; set CAPSULE_ID to the id of that capsule (cap_...), or BASE_URL to its address';
  }
  if (!isToken && id !== undefined) {
    return `API_KEY: must hold the token of the capsule ${id} (cpt_...); without CAPSULE_ID it may be an API key`;
  }
  if (CAPSULE_ID !== undefined && inAddress !== undefined && CAPSULE_ID !== inAddress) {
    return `CAPSULE_ID: is ${CAPSULE_ID}, but BASE_URL is the address of the capsule ${inAddress}; set one of the two`;
  }
  return undefined;
}

function invalid(problems: readonly string[]): OperatorError {
  return new OperatorError(`The configuration is invalid:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
}
