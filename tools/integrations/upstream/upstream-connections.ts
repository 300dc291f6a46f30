import type { IntegrationRecord, IntegrationStatus } from '../../../resources/integration.ts';
import type { Principal } from '../../core/access/principal.ts';
import { ToolError } from '../../core/errors.ts';
import { Scrubber } from '../../core/outbound/untrusted-text.ts';
import { holderOf } from '../accounts/account-holder.ts';
import { AccountRequired, accountRequiredBy } from '../accounts/account-tokens.ts';
import { isPerPerson, takesAccounts } from '../auth-mode.ts';
import { Connection, type ConnectOptions } from './connection.ts';
import { ConnectionPool, type OpenOptions, SHARED, type UpstreamConnection } from './connection-pool.ts';
import { errorText, failureOf } from './failure.ts';
import { type ListedTools, listTools } from './list-tools.ts';
import { labelOf } from './tool-definitions.ts';
import { ConnectionFailure, OAuthRequired, secretsOf, type Target } from './transport.ts';

export interface UpstreamConnectionsDeps
  extends Pick<ConnectOptions, 'privateAddresses' | 'watchdog' | 'client' | 'telemetry'> {
  /** The address with its secrets, and the account of the person. @throws where it is not allowed, or a secret cannot be read */
  targetOf(record: IntegrationRecord, userId?: string): Target;
  /** What a caller is told whose call needs an account that is not connected, or has to be connected again. */
  askForAccount(record: IntegrationRecord, caller: Principal, wanted: AccountRequired): Promise<ToolError>;
  onUsed(record: IntegrationRecord, userId?: string): void;
  onState(record: IntegrationRecord, status: IntegrationStatus): void;
}

interface Owner {
  readonly record: IntegrationRecord;
  onListed(): void;
}

type StatusInput = { readonly [Member in keyof IntegrationStatus]?: IntegrationStatus[Member] | undefined } & Pick<
  IntegrationStatus,
  'state'
>;

const LONGEST_WORDS = 1000;
const NEVER = new AbortController().signal;

export class UpstreamConnections {
  readonly #owner: Owner;
  readonly #deps: UpstreamConnectionsDeps;
  readonly #pool: ConnectionPool;
  #status: IntegrationStatus = { state: 'disabled', since: new Date().toISOString() };
  /** Of the shared connection, also while it is being made. */
  #scrubber = new Scrubber([]);
  #listed: ListedTools | undefined;

  constructor(owner: Owner, deps: UpstreamConnectionsDeps) {
    this.#owner = owner;
    this.#deps = deps;
    this.#pool = new ConnectionPool({
      open: (account, options) => this.#open(account, options),
      list: ({ connection, scrubber }) => this.#list(connection, scrubber),
      onConnecting: () => {
        const { lastError, lastOutput } = this.#status;
        this.#set({ state: 'connecting', lastError, lastOutput });
      },
      onListed: (upstream) => this.#show(upstream, 'connected'),
      onAway: (why, retryAt) => this.#setAway(why, retryAt),
    });
  }

  get status(): IntegrationStatus {
    return this.#status;
  }

  /** What the server lists to all, or where each person has an account, to the operator who asked last. */
  get listed(): ListedTools | undefined {
    return this.#listed;
  }

  get isStarted(): boolean {
    return this.#pool.isStarted;
  }

  start(): void {
    if (isPerPerson(this.#owner.record)) this.#set({ state: 'per_person' });
    else this.#pool.start();
  }

  /** Forgets what the server lists. Resolves when nothing of the connections is left. */
  async stop(reason: ToolError): Promise<void> {
    const stopped = this.#pool.stop(reason);
    this.#listed = undefined;
    this.#set({ state: 'disabled' });
    await stopped;
  }

  /** Lists the tools now, where each person has an account with that of the caller. @throws ToolError if that fails */
  async refresh(caller: Principal): Promise<void> {
    if (isPerPerson(this.#owner.record)) {
      await this.use(caller, NEVER, async (upstream) => {
        this.#show({ ...upstream, ...(await this.#list(upstream.connection, upstream.scrubber)) }, 'per_person');
      });
    } else if (!(await this.#pool.refresh())) throw this.#away();
  }

  accountConnected(userId: string | undefined): void {
    this.#pool.renew(userId ?? SHARED);
  }

  accountEnded(userId: string | undefined, reason: ToolError): Promise<void> {
    return this.#pool.end(userId ?? SHARED, reason);
  }

  async use<Result>(
    caller: Principal,
    given: AbortSignal,
    work: (upstream: UpstreamConnection, signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const { record } = this.#owner;
    try {
      const userId = isPerPerson(record) ? holderOf(caller) : undefined;
      if (isPerPerson(record) && userId === undefined) throw new AccountRequired();
      const account = userId ?? SHARED;
      return await this.#pool.use(account, async (upstream, ending) => {
        this.#deps.onUsed(record, userId);
        const signal = AbortSignal.any([given, ending]);
        return work(upstream, signal).catch((error: unknown) => {
          throw this.#failed(error, upstream, () => signal.aborted || this.#pool.doubt(account));
        });
      });
    } catch (error) {
      if (error instanceof ToolError) throw error;
      const wanted = this.#status.state === 'wants_oauth' && takesAccounts(record) ? new AccountRequired() : error;
      if (wanted instanceof AccountRequired) throw await this.#deps.askForAccount(record, caller, wanted);
      throw this.#away(error);
    }
  }

  /** The error to throw for one of a call. `onDoubt` is called where the connection may be lost. */
  #failed(error: unknown, { scrubber }: UpstreamConnection, onDoubt: () => unknown): Error {
    if (error instanceof ToolError) return error;
    const wanted = takesAccounts(this.#owner.record) && accountRequiredBy(error);
    if (wanted) return wanted;
    const { code, message, doubt } = failureOf(error, labelOf(this.#owner.record), scrubber);
    if (doubt) onDoubt();
    return new ToolError(code, message);
  }

  #away(cause?: unknown): ToolError {
    const label = labelOf(this.#owner.record);
    const { retryAt, state } = this.#status;
    if (state === 'wants_oauth') {
      const message = `The integration ${label} wants a token before it can be used; get_system_health tells more.`;
      return new ToolError('unavailable', message);
    }
    const again = retryAt ? `it is tried again at ${retryAt}` : 'it is tried again soon';
    const next = state === 'per_person' ? 'make the call again in a moment' : `${again}. get_system_health tells why`;
    return new ToolError(
      'unavailable',
      `The integration ${label} cannot be reached now; ${next}.`,
      { notMade: true },
      cause,
    );
  }

  async #open(account: string, options: OpenOptions): Promise<UpstreamConnection> {
    const { record } = this.#owner;
    const isShared = account === SHARED;
    const target = this.#deps.targetOf(record, isShared ? undefined : account);
    // Tokens are renewed while it is being connected, and afterwards.
    const scrubber = new Scrubber(() => secretsOf(target));
    if (isShared) this.#scrubber = scrubber;
    const connection = await Connection.open(target, { ...this.#deps, ...options });
    try {
      return { connection, scrubber, ...(await this.#list(connection, scrubber)) };
    } catch (error) {
      await connection.close();
      throw error;
    }
  }

  async #list(connection: Connection, scrubber: Scrubber) {
    const started = performance.now();
    const listed = await listTools(connection, this.#owner.record, scrubber);
    return { listed, latencyMs: Math.round((performance.now() - started) * 1000) / 1000 };
  }

  #show({ connection, scrubber, listed, latencyMs }: UpstreamConnection, state: 'connected' | 'per_person'): void {
    const { server, protocolVersion } = connection;
    this.#listed = listed;
    const name = server && scrubber.shown(`${server.name} ${server.version}`);
    this.#set({ state, server: name, protocolVersion, latencyMs });
    this.#owner.onListed();
  }

  #set(status: StatusInput): void {
    const before = this.#status;
    const since = before.state === status.state ? before.since : new Date().toISOString();
    const given = Object.fromEntries(Object.entries(status).filter(([, value]) => value !== undefined));
    this.#status = { ...given, state: status.state, since };
    if (before.state !== status.state) this.#deps.onState(this.#owner.record, this.#status);
  }

  #setAway(why: unknown, retryAt: Date | undefined): void {
    const words = why instanceof ConnectionFailure ? why.wrote.slice(-LONGEST_WORDS) : '';
    this.#set({
      state: why instanceof OAuthRequired || why instanceof AccountRequired ? 'wants_oauth' : 'unavailable',
      lastError: errorText(why, this.#scrubber),
      lastOutput: this.#scrubber.shown(words, LONGEST_WORDS) || undefined,
      retryAt: retryAt?.toISOString(),
    });
  }
}
