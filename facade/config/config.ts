import { isIP } from 'node:net';
import { z } from 'zod';
import { email, namesUser } from '../../resources/fields.ts';
import { OperatorError } from '../../store/errors.ts';
import { prefixOf } from '../../tools/core/access/key-secret.ts';
import { validationMessage } from '../../tools/core/registry/validation-messages.ts';
import { backupEnvironment, backupSettings, storageEnvironment, storageLimits } from './data-config.ts';
import { integrationEnvironment, integrationSettings } from './integration-config.ts';
import { modelEnvironment, modelProblems, modelSettings } from './model-config.ts';
import { SHORTEST_SECRET } from './secret-files.ts';
import { signInEnvironment, signInProblems, signInSettings } from './sign-in-config.ts';
import { telemetryEnvironment, telemetrySettings } from './telemetry-config.ts';
import { isProxyName } from './trusted-proxies.ts';

const origin = z
  .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
  .refine((url) => !namesUser(url), 'must hold no user and password');

const list = z
  .string()
  .default('')
  .transform((text) =>
    text
      .split(',')
      .map((part) => part.trim())
      .filter(Boolean),
  );

/** Every environment variable that the server reads, with its default. */
const environment = z.object({
  HOST: z.string().min(1).default('127.0.0.1').describe('Address to listen on.'),
  PORT: z.coerce
    .number({ error: 'must be a port number from 0 to 65535' })
    .int()
    .min(0)
    .max(65535)
    .default(3000)
    .describe('Port to listen on; 0 takes a free one.'),
  BASE_URL: origin
    .refine((url) => !/[?#]/.test(url), 'must have neither query nor fragment')
    .optional()
    .describe('Address under which clients reach the server. Default: from HOST and PORT.'),
  DATA_DIR: z.string().min(1).default('data/local').describe('Folder of the embedded store.'),
  METRICS_MEMORY_MB: z.coerce
    .number()
    .int()
    .min(64)
    .max(65_536)
    .default(128)
    .describe('Memory for imported rows and metrics, in MB. What does not fit lies in DATA_DIR meanwhile.'),
  DATABASE_URL: z
    .string()
    .refine(
      (text) => /^postgres(ql)?:\/\//.test(text) && URL.canParse(text),
      'must have the form postgres://user:password@host:5432/database',
    )
    .optional()
    .describe('PostgreSQL database that keeps the data, 15 or newer. Default: the embedded store in DATA_DIR.'),
  DATABASE_CONNECTIONS: z.coerce
    .number({ error: 'must be a whole number from 2 to 1000' })
    .int()
    .min(2)
    .max(1000)
    .default(16)
    .describe(
      'Connections of this process to the database for calls. Up to 6 more are for jobs, changes of other processes and upkeep.',
    ),
  DATABASE_WAIT_SECONDS: z.coerce
    .number({ error: 'must be a whole number from 0 to 3600' })
    .int()
    .min(0)
    .max(3600)
    .default(60)
    .describe('How long a server that starts waits for a database that cannot be reached yet.'),
  ...backupEnvironment,
  ...storageEnvironment,
  AUDIT_ANCHOR_URL: origin
    .optional()
    .describe(
      'Receives each signed head of the audit log by POST, so that a log written anew is noticed. Private addresses: PRIVATE_UPSTREAMS.',
    ),
  BOOTSTRAP_API_KEY: z
    .string()
    .refine((key) => prefixOf('key', key) !== undefined, 'must have the form ak_<8 characters>_<40 or more characters>')
    .optional()
    .describe('Admin key made at the first start, ak_<8 characters>_<40 or more>. Default: a new one, printed once.'),
  ADMIN_EMAIL: email.default('admin@localhost').describe('Owner made at the first start.'),
  SESSION_SECRET: z
    .string()
    .transform((text) => text.split(',').map((secret) => secret.trim()))
    .pipe(z.array(z.string().min(SHORTEST_SECRET, `must be secrets of at least ${SHORTEST_SECRET} characters`)))
    .optional()
    .describe(
      'Secrets of at least 32 characters that sign session cookies, comma separated: the first signs, all are accepted. Default: made and kept in DATA_DIR, or in the database of DATABASE_URL.',
    ),
  ALLOWED_ORIGINS: list
    .pipe(z.array(origin))
    .describe('Origins of browser clients, comma separated, e.g. https://app.example.com.'),
  TRUSTED_PROXIES: list
    .pipe(z.array(z.string().refine(isProxyName, 'must be addresses, networks such as 10.0.0.0/8, or loopback')))
    .describe(
      'Reverse proxies whose X-Forwarded-For names the caller: addresses, networks (CIDR) or loopback, comma separated.',
    ),
  OAUTH: z
    .enum(['on', 'off'])
    .default('on')
    .describe('Whether MCP clients can connect by signing in (OAuth) instead of an API key.'),
  ...signInEnvironment,
  ...modelEnvironment,
  ...integrationEnvironment,
  ...telemetryEnvironment,
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
    .default('info')
    .describe('Lowest level that is logged; debug logs every request.'),
  RATE_LIMIT_PER_MINUTE: z.coerce
    .number()
    .int()
    .min(0)
    .default(0)
    .describe('Calls a minute for each key, in all processes; 0 sets no limit.'),
  DRAIN_SECONDS: z.coerce
    .number({ error: 'must be a number of seconds from 0 to 300' })
    .min(0)
    .max(300)
    .default(0)
    .describe('How long it still answers after SIGTERM while /readyz says 503, so that a load balancer sends no more.'),
  MAX_CONNECTIONS: z.coerce
    .number({ error: 'must be a whole number of at least 10' })
    .int()
    .min(10)
    .default(1000)
    .describe('Connections open at a time; at the limit the oldest without an authenticated request is closed.'),
  FIRST_REQUEST_SECONDS: z.coerce
    .number({ error: 'must be a number of seconds, more than 0' })
    .positive()
    .max(300)
    .default(10)
    .describe('How long a connection on which nobody was authenticated waits for its next request.'),
});

/** Where a member is undefined, the server uses its own: secrets that it made, the embedded store. `databaseUrl` may contain a password, so it is never shown. */
export type Config = Readonly<ReturnType<typeof readConfig>>;

/** The server cannot run with this environment. The message lists every problem. */
export class ConfigError extends OperatorError {}

/** An empty variable counts as not set. @throws ConfigError */
export function readConfig(env: NodeJS.ProcessEnv) {
  const trimmed = Object.entries(env).map(([name, value]) => [name, value?.trim()] as const);
  const given = Object.fromEntries(trimmed.filter(([, value]) => value !== ''));
  const { data, error } = environment.safeParse(given, { error: validationMessage });
  const alone = new Set(error?.issues.map(({ path: [name], message }) => `${String(name)}: ${message}`));
  const problems = [...alone, ...signInProblems(given), ...modelProblems(given)];
  if (!data || problems.length > 0) {
    throw new ConfigError(`The configuration is invalid:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
  }
  return {
    host: data.HOST,
    port: data.PORT,
    baseUrl: data.BASE_URL?.replace(/\/+$/, ''),
    dataDir: data.DATA_DIR,
    metricsMemoryMb: data.METRICS_MEMORY_MB,
    databaseUrl: data.DATABASE_URL,
    databaseConnections: data.DATABASE_CONNECTIONS,
    databaseWaitMs: data.DATABASE_WAIT_SECONDS * 1000,
    backups: backupSettings(data),
    storageLimits: storageLimits(data),
    auditAnchorUrl: data.AUDIT_ANCHOR_URL,
    bootstrapKey: data.BOOTSTRAP_API_KEY,
    adminEmail: data.ADMIN_EMAIL,
    sessionSecrets: data.SESSION_SECRET,
    allowedOrigins: data.ALLOWED_ORIGINS.map((text) => new URL(text).origin),
    trustedProxies: data.TRUSTED_PROXIES,
    oauth: data.OAUTH === 'on',
    logLevel: data.LOG_LEVEL,
    rateLimitPerMinute: data.RATE_LIMIT_PER_MINUTE,
    drainMs: data.DRAIN_SECONDS * 1000,
    maxConnections: data.MAX_CONNECTIONS,
    firstRequestMs: data.FIRST_REQUEST_SECONDS * 1000,
    models: modelSettings(data),
    telemetry: telemetrySettings(data),
    ...signInSettings(data, data.BASE_URL),
    ...integrationSettings(data, { host: data.HOST, trustedProxies: data.TRUSTED_PROXIES }),
  };
}

export function describeEnvironment(): { name: string; fallback: string; meaning: string }[] {
  return Object.entries(environment.shape).map(([name, schema]) => {
    const fallback = schema.safeParse(undefined).data;
    return { name, fallback: fallback === undefined ? '' : String(fallback), meaning: schema.description ?? '' };
  });
}

/** The URL of a server on this address, where no BASE_URL is given. */
export function localUrl(host: string, port: number): string {
  const reachable = host === '0.0.0.0' || host === '::' ? 'localhost' : host;
  return httpUrl(reachable, port);
}

export function httpUrl(host: string, port: number): string {
  return `http://${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
}
