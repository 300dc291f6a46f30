import { isIPv6 } from 'node:net';
import { createRateLimit } from '../access/rate-limit.ts';

/** Steps of signing in, each counted by itself: who signs in by link takes all three once. */
export type SignInStep = 'link' | 'redeem' | 'session' | 'provider';

const PER_ADDRESS = 20;
const PER_EMAIL = 5;

/** Counts attempts to sign in, whether or not they succeed, and for e-mails that nobody has as for those that somebody has. */
export class Attempts {
  readonly #byAddress = createRateLimit(PER_ADDRESS, 'attempts to sign in from one address');
  readonly #byEmail = createRateLimit(PER_EMAIL, 'attempts to sign in with one e-mail');

  /** @throws ToolError (rate_limited) */
  fromAddress(step: SignInStep, address: string): Promise<void> {
    return this.#byAddress(`${step} ${networkOf(address)}`);
  }

  /** @throws ToolError (rate_limited) */
  withEmail(step: SignInStep, email: string): Promise<void> {
    return this.#byEmail(`${step} ${email.toLowerCase()}`);
  }
}

/** An IPv4 address, or the first 64 bits of an IPv6 one: the rest is its holder's to choose. */
function networkOf(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/, '');
  if (!isIPv6(plain)) return plain;
  const [head = '', tail] = plain.split('%')[0]?.split('::') ?? [];
  const first = head === '' ? [] : head.split(':');
  const last = tail ? tail.split(':') : [];
  const zeros = tail === undefined ? 0 : 8 - first.length - last.length;
  return [...first, ...Array(zeros).fill('0'), ...last].slice(0, 4).join(':');
}
