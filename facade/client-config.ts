import { z } from 'zod';
import { OperatorError } from '../store/errors.ts';

const environment = z.object({
  BASE_URL: z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }).default('http://127.0.0.1:3000'),
  API_KEY: z.string({ error: 'must hold an API key; the first start of the server prints one' }).min(1),
});

/** How the commands that run beside the server reach it. */
export interface ClientConfig {
  readonly mcpUrl: URL;
  readonly apiKey: string;
}

/** @throws OperatorError */
export function readClientConfig(env: NodeJS.ProcessEnv): ClientConfig {
  const parsed = environment.safeParse({ BASE_URL: env.BASE_URL || undefined, API_KEY: env.API_KEY || undefined });
  if (!parsed.success) {
    const lines = parsed.error.issues.map(({ path, message }) => `  ${path.join('.')}: ${message}`);
    throw new OperatorError(`The configuration is invalid:\n${lines.join('\n')}`);
  }
  const { BASE_URL, API_KEY } = parsed.data;
  return { mcpUrl: new URL(`${BASE_URL.replace(/\/+$/, '')}/api/v1/mcp`), apiKey: API_KEY };
}
