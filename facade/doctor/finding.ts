import type { SetupFinding } from '../../resources/health.ts';

export type Finding = Readonly<SetupFinding>;

export type Check = () => Promise<readonly Finding[]>;

export const ok = (about: string, text: string): Finding => ({ level: 'ok', about, text });
export const warn = (about: string, text: string): Finding => ({ level: 'warn', about, text });
export const fail = (about: string, text: string): Finding => ({ level: 'fail', about, text });

export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  return cause instanceof Error && cause.message ? `${error.message}: ${cause.message}` : error.message || error.name;
}

const SECRET = /SECRET|PASSWORD|TOKEN|_KEY$/;

/** Removes from a text what secret variables hold, and the passwords of addresses. */
export function withoutSecrets(text: string, env: NodeJS.ProcessEnv): string {
  const secrets = Object.entries(env).flatMap(([name, value = '']) => {
    if (SECRET.test(name)) return [value, ...value.split(',')];
    const { password } = URL.canParse(value) ? new URL(value) : { password: '' };
    return password ? [password, decodeURIComponent(password)] : [];
  });
  const shown = secrets
    .map((secret) => secret.trim())
    .filter((secret) => secret.length > 3)
    .sort((one, other) => other.length - one.length);
  return shown.reduce((left, secret) => left.replaceAll(secret, '•••'), text);
}

/** Sign-ins and signatures allow for a minute. */
const MOST_MS = 60_000;

/** Compares this clock with that of somebody else, read just now. */
export function clockFinding(whose: string, theirs: Date): Finding {
  const apart = Math.abs(Date.now() - theirs.getTime());
  const text = `This clock and that of ${whose} are ${Math.round(apart / 1000)} s apart`;
  return apart > MOST_MS ? fail('clock', `${text}: set it by NTP, or sign-ins fail.`) : ok('clock', `${text}.`);
}
