import { isIPv6 } from 'node:net';
import type { Store } from '../../store/port.ts';
import { createRateLimit, type RateLimit } from '../core/access/rate-limit.ts';

/** The steps of signing in. Each is counted by itself, because signing in by link takes three of them. */
export type SignInStep = 'link' | 'redeem' | 'session' | 'provider' | 'passkey';

export const PER_ADDRESS = 20;
export const PER_EMAIL_AND_ADDRESS = 5;
/** Only a flood from many networks comes so far, so that nobody alone keeps a person from signing in. */
export const PER_EMAIL = 30;

/** Counts attempts to sign in, successful or not, and whether or not the e-mail belongs to anybody. */
export class Attempts {
  readonly #byAddress: RateLimit;
  readonly #byBoth: RateLimit;
  readonly #byEmail: RateLimit;

  constructor({ cluster }: Pick<Store, 'cluster'>) {
    this.#byAddress = createRateLimit(PER_ADDRESS, 'attempts to sign in from one address', { cluster });
    this.#byBoth = createRateLimit(PER_EMAIL_AND_ADDRESS, 'attempts to sign in with one e-mail', { cluster });
    this.#byEmail = createRateLimit(PER_EMAIL, 'attempts to sign in with one e-mail from all addresses', { cluster });
  }

  /** @throws ToolError (rate_limited) */
  fromAddress(step: SignInStep, address: string): Promise<void> {
    return this.#byAddress(`${step} ${networkOf(address)}`);
  }

  /** @throws ToolError (rate_limited) */
  async withEmail(step: SignInStep, email: string, address: string): Promise<void> {
    const counted = `${step} ${email.toLowerCase()}`;
    await this.#byBoth(`${counted} ${networkOf(address)}`);
    await this.#byEmail(counted);
  }
}

/** An IPv4 address, or the first 64 bits of an IPv6 address, because its holder can choose the other bits. */
export function networkOf(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/, '');
  if (!isIPv6(plain)) return plain;
  const [head = '', tail] = plain.split('%')[0]?.split('::') ?? [];
  const first = head === '' ? [] : head.split(':');
  const last = tail ? tail.split(':') : [];
  const zeros = tail === undefined ? 0 : 8 - first.length - last.length;
  return [...first, ...Array(zeros).fill('0'), ...last].slice(0, 4).join(':');
}
