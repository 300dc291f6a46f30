import type { IntegrationStatus } from '../../../resources/integration.ts';
import { AccountRequired } from '../accounts/account-required.ts';
import { ConnectionFailure } from './connection.ts';
import { errorText } from './failure.ts';
import { OAuthRequired } from './oauth.ts';
import type { Scrubber } from './text.ts';

/** This much of what a program wrote last is kept. */
const LONGEST_WORDS = 1000;

type StatusInput = { readonly [Member in keyof IntegrationStatus]?: IntegrationStatus[Member] | undefined } & Pick<
  IntegrationStatus,
  'state'
>;

/** The state of a connection, and since when it is that. */
export class ConnectionStatus {
  #status: IntegrationStatus = { state: 'disabled', since: new Date().toISOString() };
  readonly #onState: (status: IntegrationStatus) => void;

  constructor(onState: (status: IntegrationStatus) => void) {
    this.#onState = onState;
  }

  get status(): IntegrationStatus {
    return this.#status;
  }

  set(status: StatusInput): void {
    const before = this.#status;
    const since = before.state === status.state ? before.since : new Date().toISOString();
    const given = Object.fromEntries(Object.entries(status).filter(([, value]) => value !== undefined));
    this.#status = { ...given, state: status.state, since };
    if (before.state !== status.state) this.#onState(this.#status);
  }

  setAway(why: unknown, retryAt: Date | undefined, scrubber: Scrubber): void {
    const words = why instanceof ConnectionFailure ? why.wrote.slice(-LONGEST_WORDS) : '';
    this.set({
      state: why instanceof OAuthRequired || why instanceof AccountRequired ? 'wants_oauth' : 'unavailable',
      lastError: errorText(why, scrubber),
      lastOutput: scrubber.shown(words, LONGEST_WORDS) || undefined,
      retryAt: retryAt?.toISOString(),
    });
  }
}
