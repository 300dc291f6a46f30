import type { IntegrationRecord, IntegrationStatus } from '../../../resources/integration.ts';
import type { Principal } from '../../core/access/principal.ts';
import { ToolError } from '../../core/errors.ts';
import { accountRequiredBy } from '../accounts/account-auth.ts';
import { AccountRequired } from '../accounts/account-required.ts';
import { holderOf } from '../accounts/holder.ts';
import { isPerPerson, takesAccounts } from '../auth-mode.ts';
import { Connection, type ConnectOptions, secretsOf, type Target } from './connection.ts';
import { ConnectionStatus } from './connection-status.ts';
import { failureOf } from './failure.ts';
import { type ListedTools, listTools } from './list-tools.ts';
import { PersonalConnections, type UpstreamConnection } from './personal-connections.ts';
import { SharedConnection, type SharedConnectionDeps } from './shared-connection.ts';
import { Scrubber } from './text.ts';
import { labelOf } from './tool-definitions.ts';

/** What the connections of an integration need from the server. */
export interface ConnectionPoolDeps
  extends Pick<ConnectOptions, 'privateAddresses' | 'watchdog' | 'client' | 'telemetry'> {
  /**
   * How to reach the server, with its secrets, and with the account of the person where each has one.
   * @throws where the target is not allowed, or a secret cannot be read
   */
  targetOf(record: IntegrationRecord, userId?: string): Target;
  /** What a caller is told whose call needs an account that is not connected, or has to be connected again. */
  askForAccount(record: IntegrationRecord, caller: Principal, wanted: AccountRequired): Promise<ToolError>;
  /** Called when an account was used. */
  onUsed(record: IntegrationRecord, userId?: string): void;
  /** Called each time the state of the connection changes. */
  onState(record: IntegrationRecord, status: IntegrationStatus): void;
}

/** What they need from their integration. */
interface Owner {
  readonly record: IntegrationRecord;
  readonly isIdle: boolean;
  /** Called when the tools are listed. */
  onListed(): void;
}

/** The connections of an integration: one shared connection, or one per person. */
export class ConnectionPool {
  readonly #owner: Owner;
  readonly #services: ConnectionPoolDeps;
  readonly #status: ConnectionStatus;
  readonly #link: SharedConnection;
  readonly #personal: PersonalConnections;
  #scrubber = new Scrubber([]);
  #listed: ListedTools | undefined;

  constructor(owner: Owner, services: ConnectionPoolDeps) {
    this.#owner = owner;
    this.#services = services;
    this.#status = new ConnectionStatus((status) => services.onState(owner.record, status));
    this.#link = new SharedConnection(this.#linkParts());
    this.#personal = new PersonalConnections({
      open: (userId, options) => this.#openFor(userId, options),
      list: ({ connection, scrubber }) => listTools(connection, owner.record, scrubber),
    });
  }

  get status(): IntegrationStatus {
    return this.#status.status;
  }

  /** What its server lists to all, or where each person has an account, to the operator who asked last. */
  get listed(): ListedTools | undefined {
    return this.#listed;
  }

  get isStarted(): boolean {
    return this.#link.isStarted;
  }

  /** Connects, and reconnects until `stop`. Where each person has an account, connections are made when they are needed. */
  start(): void {
    if (isPerPerson(this.#owner.record)) this.#status.set({ state: 'per_person' });
    else this.#link.start();
  }

  /** Resolves when nothing of the connections is left. */
  async stop(reason: ToolError): Promise<void> {
    const stopped = Promise.all([this.#link.stop(), this.#personal.endAll(reason)]);
    this.#status.set({ state: 'disabled' });
    await stopped;
  }

  /** Forgets everything that is known about the server. */
  forget(): void {
    this.#listed = undefined;
    this.#link.forget();
  }

  /** Lists the tools now, and connects first where necessary. @throws ToolError if that fails */
  async refresh(caller: Principal): Promise<void> {
    if (isPerPerson(this.#owner.record)) return this.#refreshAs(caller);
    await this.#link.refresh();
    if (!this.#link.connection) throw this.#away();
  }

  /** An account was connected: of the person, or the shared one. */
  accountConnected(userId: string | undefined): void {
    if (userId !== undefined) this.#personal.doubt(userId);
    else void this.#restart();
  }

  /** An account has ended. Its connection is closed at once. */
  accountEnded(userId: string | undefined, reason: ToolError): Promise<void> {
    return userId === undefined ? this.#restart() : this.#personal.end(userId, reason);
  }

  /** Does the work over the connection that the caller uses. @throws ToolError */
  async use<Result>(
    caller: Principal,
    signal: AbortSignal,
    work: (line: UpstreamConnection, signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    try {
      if (isPerPerson(this.#owner.record)) return await this.#withPersonalLine(caller, signal, work);
      const line = await this.#ready();
      this.#services.onUsed(this.#owner.record);
      return await work(line, signal).catch((error: unknown) => {
        throw this.#failed(error, line, () => {
          if (!signal.aborted && line.connection === this.#link.connection) void this.#link.look();
        });
      });
    } catch (error) {
      if (error instanceof AccountRequired) throw await this.#services.askForAccount(this.#owner.record, caller, error);
      throw error;
    }
  }

  async #withPersonalLine<Result>(
    caller: Principal,
    given: AbortSignal,
    work: (line: UpstreamConnection, signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const userId = holderOf(caller);
    if (userId === undefined) throw new AccountRequired();
    this.#services.onUsed(this.#owner.record, userId);
    return this.#personal
      .use(userId, (line, ending) => {
        const signal = AbortSignal.any([given, ending]);
        return work(line, signal).catch((error: unknown) => {
          throw this.#failed(error, line, () => signal.aborted || this.#personal.doubt(userId));
        });
      })
      .catch((error: unknown) => {
        if (error instanceof ToolError || error instanceof AccountRequired) throw error;
        const message = this.#unreachable('make the call again in a moment');
        throw new ToolError('unavailable', message, { notMade: true }, error);
      });
  }

  async #restart(): Promise<void> {
    if (!this.#link.isStarted) return;
    await this.#link.stop();
    if (this.#owner.record.enabled) this.#link.start();
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

  async #ready(): Promise<UpstreamConnection> {
    const connection = await this.#link.ready();
    if (connection && this.#listed) return { connection, listed: this.#listed, scrubber: this.#scrubber };
    if (this.status.state === 'wants_oauth' && takesAccounts(this.#owner.record)) throw new AccountRequired();
    throw this.#away();
  }

  #away(): ToolError {
    const { retryAt, state } = this.#status.status;
    const again = retryAt ? `it is tried again at ${retryAt}` : 'it is tried again soon';
    const message =
      state === 'wants_oauth'
        ? `The integration ${labelOf(this.#owner.record)} wants a token before it can be used; get_system_health tells more.`
        : this.#unreachable(`${again}. get_system_health tells why`);
    return new ToolError('unavailable', message, state === 'wants_oauth' ? {} : { notMade: true });
  }

  #unreachable(what: string): string {
    return `The integration ${labelOf(this.#owner.record)} cannot be reached now; ${what}.`;
  }

  #linkParts(): SharedConnectionDeps {
    return {
      open: async (options) => {
        const target = this.#services.targetOf(this.#owner.record);
        this.#scrubber = new Scrubber(secretsOf(target));
        const connection = await Connection.open(target, { ...this.#services, ...options });
        this.#scrubber = new Scrubber(secretsOf(target));
        return connection;
      },
      list: (connection, signal) => this.#list(connection, signal),
      onListed: () => this.#owner.onListed(),
      onConnecting: () => {
        const { lastError, lastOutput } = this.#status.status;
        this.#status.set({ state: 'connecting', lastError, lastOutput });
      },
      onAway: (why, retryAt) => this.#status.setAway(why, retryAt, this.#scrubber),
      isIdle: () => this.#owner.isIdle,
    };
  }

  async #openFor(userId: string, options: Parameters<SharedConnectionDeps['open']>[0]): Promise<UpstreamConnection> {
    const target = this.#services.targetOf(this.#owner.record, userId);
    const connection = await Connection.open(target, { ...this.#services, ...options });
    const scrubber = new Scrubber(secretsOf(target));
    try {
      return { connection, scrubber, listed: await listTools(connection, this.#owner.record, scrubber) };
    } catch (error) {
      await connection.close();
      throw error;
    }
  }

  async #list(connection: Connection, life: AbortSignal): Promise<void> {
    const started = performance.now();
    const listed = await listTools(connection, this.#owner.record, this.#scrubber);
    if (life.aborted) return;
    this.#listed = listed;
    const { server, protocolVersion } = connection;
    this.#status.set({
      state: 'connected',
      server: server && this.#scrubber.shown(`${server.name} ${server.version}`),
      protocolVersion,
      latencyMs: Math.round((performance.now() - started) * 1000) / 1000,
    });
  }

  /** Lists with the account of the operator who asks. */
  async #refreshAs(caller: Principal): Promise<void> {
    const started = performance.now();
    await this.use(caller, NEVER, async ({ connection, scrubber }) => {
      const { server, protocolVersion } = connection;
      this.#listed = await listTools(connection, this.#owner.record, scrubber);
      const latencyMs = Math.round((performance.now() - started) * 1000) / 1000;
      const name = server && scrubber.shown(`${server.name} ${server.version}`);
      this.#status.set({ state: 'per_person', server: name, protocolVersion, latencyMs });
    });
    this.#owner.onListed();
  }
}

const NEVER = new AbortController().signal;
