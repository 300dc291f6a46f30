import { isIP } from 'node:net';
import { z } from 'zod';
import { isSecretsKey } from '../../tools/core/sealing/secrets.ts';

const onOrOff = z.enum(['on', 'off']).optional();

export const integrationEnvironment = {
  SECRETS_KEY: z
    .string()
    .transform((text) => text.split(',').map((key) => key.trim()))
    .pipe(
      z.array(
        z.string().refine(isSecretsKey, 'must be 32 bytes in base64 or hex; make one with: openssl rand -base64 32'),
      ),
    )
    .optional()
    .describe(
      'Keys that encrypt what is secret in the store, comma separated, each 32 bytes in base64 or hex: the first encrypts, all decrypt. Default: one made in the data folder; with DATABASE_URL it must be set, to the same in all processes.',
    ),
  STDIO_INTEGRATIONS: onOrOff.describe(
    'Whether integrations may run programs. Default: on if HOST is a loopback address and no proxy is trusted.',
  ),
  PRIVATE_UPSTREAMS: onOrOff.describe(
    'Whether integrations, connections, webhooks, model providers of the workspace and AUDIT_ANCHOR_URL may be at private and local addresses. Default: on if HOST is a loopback address and no proxy is trusted. Links of documents: only where it is set to `on`. Link-local and cloud metadata addresses: never.',
  ),
};

/** `secretsKeys`: undefined where the keys are in the data folder. */
export function integrationSettings(
  given: z.output<z.ZodObject<typeof integrationEnvironment>>,
  { host, trustedProxies }: { readonly host: string; readonly trustedProxies: readonly string[] },
) {
  const fallback = isLoopbackHost(host) && trustedProxies.length === 0 ? 'on' : 'off';
  return {
    secretsKeys: given.SECRETS_KEY,
    stdioIntegrations: (given.STDIO_INTEGRATIONS ?? fallback) === 'on',
    privateUpstreams: (given.PRIVATE_UPSTREAMS ?? fallback) === 'on',
    privateLinks: given.PRIVATE_UPSTREAMS === 'on',
  };
}
export type IntegrationSettings = Readonly<ReturnType<typeof integrationSettings>>;

/** Whether only this machine can reach a server on this host. */
function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}
