import type { Config } from './config.ts';

/** Secrets that the operator gave. Other servers, which are sent them, repeat them in errors. */
export function secretsOf(config: Partial<Config>): string[] {
  const { databaseUrl, smtpUrl, oidc, models, sessionSecrets = [], secretsKeys = [], bootstrapKey } = config;
  const given = [oidc?.clientSecret, bootstrapKey, ...(models?.providers ?? []).map(({ apiKey }) => apiKey)];
  return [
    ...[databaseUrl, smtpUrl].flatMap((url) => (url === undefined ? [] : passwordsIn(url))),
    ...given.filter((secret) => secret !== undefined),
    ...sessionSecrets,
    ...secretsKeys,
  ];
}

/** The password as it is in the URL, and as it is sent. */
export function passwordsIn(url: string): string[] {
  const { password } = new URL(url);
  try {
    return [password, decodeURIComponent(password)];
  } catch {
    return [password]; // not encoded
  }
}
