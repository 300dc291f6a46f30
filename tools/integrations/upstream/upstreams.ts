import type { IntegrationHealth } from '../../../resources/health.ts';
import type { IntegrationRecord, IntegrationStatus, ToolDefinition } from '../../../resources/integration.ts';
import { ELSEWHERE } from '../../../store/cluster-port.ts';
import type { Commit, Readers, Store } from '../../../store/port.ts';
import type { Principal } from '../../core/access/principal.ts';
import { addressRefusal } from '../../core/outbound/ip-addresses.ts';
import type { LiveCatalog } from '../../core/registry/catalog-index.ts';
import type { Dependency } from '../../core/registry/context.ts';
import { readWithRetry } from '../../core/registry/enabled-records.ts';
import { allOf } from '../../core/registry/paging.ts';
import type { SecretBox } from '../../core/sealing/secrets.ts';
import type { Telemetry } from '../../core/telemetry/telemetry.ts';
import { askForAccount } from '../accounts/account-holder.ts';
import { accountKey } from '../accounts/account-secrets.ts';
import { AccountAuth, type AccountRequired } from '../accounts/account-tokens.ts';
import type { IntegrationAccounts } from '../accounts/accounts.ts';
import { takesAccounts } from '../auth-mode.ts';
import { type Extras, NO_EXTRAS } from './extras.ts';
import type { NameHolder } from './offered-tools.ts';
import { shownName } from './tool-definitions.ts';
import type { Target } from './transport.ts';
import { Upstream, type View } from './upstream.ts';
import { createWatchdog } from './watchdog.ts';

declare module '../../core/registry/context.ts' {
  interface ServerContext {
    readonly upstreams?: Upstreams;
  }
}

interface UpstreamsOptions {
  readonly catalog: LiveCatalog;
  readonly secrets: SecretBox;
  readonly stdio: boolean;
  readonly privateAddresses: boolean;
  readonly client: { readonly name: string; readonly version: string };
  readonly accounts: IntegrationAccounts;
  readonly telemetry: Telemetry;
  onFailure(cause: unknown): void;
  onState(record: IntegrationRecord, status: IntegrationStatus): void;
}

export class Upstreams implements Dependency {
  readonly secrets: SecretBox;
  readonly accounts: IntegrationAccounts;
  readonly #options: UpstreamsOptions;
  readonly #watchdog = createWatchdog();
  readonly #running = new Map<string, Upstream>();
  /** Changes happen one after the other, so that an integration gives up a tool prefix before another takes it. */
  #turn: Promise<void> = Promise.resolve();
  readonly #removed = new Set<string>();
  readonly #closed = new AbortController();
  #stopFollowing = () => {};

  constructor(options: UpstreamsOptions) {
    this.#options = options;
    this.secrets = options.secrets;
    this.accounts = options.accounts;
  }

  /** Starts the integrations of the store, and follows changes by other processes. Each process has connections of its own. */
  async start(store: Store): Promise<void> {
    await this.accounts.start({
      onConnected: ({ integrationId, userId }) => this.#running.get(integrationId)?.accountConnected(userId),
      onEnded: ({ integrationId, userId }) => void this.#running.get(integrationId)?.accountEnded(userId),
    });
    if (store.cluster) {
      const stopHearing = store.onCommit((commit) => this.#changedElsewhere(commit), ['integrations']);
      const reading = { signal: this.#closed.signal, onFailure: this.#options.onFailure };
      const stopMissing = store.cluster.onGap(() => void readWithRetry(() => this.#catchUp(store), reading));
      this.#stopFollowing = () => {
        stopHearing();
        stopMissing();
      };
    }
    await this.#applyAll(store);
  }

  async #applyAll(store: Pick<Readers, 'integrations'>): Promise<ReadonlySet<string>> {
    const records = await allOf(store.integrations, {});
    for (const record of records) await this.apply(record);
    return new Set(records.map(({ id }) => id));
  }

  #changedElsewhere({ changes, origin }: Commit): void {
    if (origin !== ELSEWHERE) return;
    for (const { collection, kind, record } of changes) {
      if (collection !== 'integrations') continue;
      const follow = kind === 'deleted' ? this.remove(record.id) : this.apply(record);
      follow.catch(this.#options.onFailure);
    }
  }

  /** After a time in which changes may have been missed. */
  async #catchUp(store: Pick<Readers, 'integrations'>): Promise<void> {
    const running = [...this.#running.keys()];
    const found = await this.#applyAll(store);
    for (const id of running) if (!found.has(id)) await this.remove(id);
  }

  /** Makes the running integration follow its record. A record older than the known one changes nothing. */
  apply(record: IntegrationRecord): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#closed.signal.aborted || this.#removed.has(record.id)) return;
      const known = this.#running.get(record.id);
      if (known) {
        if (known.record.revision < record.revision) await known.change(record);
        return;
      }
      const upstream = new Upstream(record, this.#surroundings());
      this.#running.set(record.id, upstream);
      upstream.start();
    });
  }

  remove(id: string): Promise<void> {
    this.#removed.add(id);
    return this.#inTurn(async () => {
      await this.#running.get(id)?.stop();
      this.#running.delete(id);
    });
  }

  /** Lists its tools now, where each person has an account with that of the caller. @throws ToolError if it cannot be reached */
  async refresh(id: string, caller: Principal): Promise<void> {
    await this.#running.get(id)?.refresh(caller);
  }

  view(id: string): View {
    return this.#running.get(id)?.view() ?? NOT_RUNNING;
  }

  definitions(id: string): readonly ToolDefinition[] {
    return this.#running.get(id)?.definitions ?? [];
  }

  extras(id: string): Extras {
    return this.#running.get(id)?.extras ?? NO_EXTRAS;
  }

  async refusal({ transport, url }: Pick<IntegrationRecord, 'transport' | 'url'>): Promise<string | undefined> {
    if (transport === 'stdio') return this.#options.stdio ? undefined : NO_STDIO;
    if (this.#options.privateAddresses || url === undefined) return undefined;
    return addressRefusal(new URL(url));
  }

  async health(): Promise<readonly IntegrationHealth[]> {
    const enabled = [...this.#running.values()].filter(({ record }) => record.enabled);
    return enabled.map((upstream) => {
      const { state, latencyMs, lastError } = upstream.view().status;
      return {
        name: upstream.record.name,
        kind: 'mcp',
        status: HEALTH[state],
        latencyMs: latencyMs ?? 0, // 0 where it was never asked
        ...(lastError !== undefined && { lastError }),
      };
    });
  }

  async close(): Promise<void> {
    this.#closed.abort();
    this.#stopFollowing();
    this.accounts.close();
    await Promise.all([...this.#running.values()].map((upstream) => upstream.stop()));
    this.#watchdog.close();
  }

  #surroundings() {
    const { accounts, onFailure } = this.#options;
    return {
      ...this.#options,
      watchdog: this.#watchdog,
      targetOf: (record: IntegrationRecord, userId?: string) => this.#targetOf(record, userId),
      takenBy: (record: IntegrationRecord, approved: boolean) => this.#takenBy(record, approved),
      askForAccount: (record: IntegrationRecord, caller: Principal, wanted: AccountRequired) =>
        askForAccount(accounts, { record, caller, wanted }),
      onUsed(record: IntegrationRecord, userId?: string) {
        if (takesAccounts(record)) accounts.tokens.noteUse(accountKey(record.id, userId)).catch(onFailure);
      },
    };
  }

  /** A prefix belongs to one integration, so only names without a prefix can be taken. */
  #takenBy({ id, toolPrefix }: IntegrationRecord, approved: boolean): NameHolder {
    if (toolPrefix !== '') return () => undefined;
    const others = [...this.#running.values()].map(({ record }) => record).filter((record) => record.id !== id);
    return this.nameHolder(others, approved);
  }

  /** Finds which of these, or this server, has a tool name. `approved`: also by tools that are approved and not offered now. */
  nameHolder(others: readonly IntegrationRecord[], approved: boolean): NameHolder {
    const names = approved ? approvedNames(others) : new Map<string, string>();
    return (tool) => {
      const holder = this.#options.catalog.holderOf(tool);
      if (holder && 'own' in holder) return 'this server';
      const other = holder && others.find((record) => record.id === holder.source)?.name;
      return other === undefined ? names.get(tool) : `the integration ${other}`;
    };
  }

  #targetOf(record: IntegrationRecord, userId: string | undefined): Target {
    const { id, transport, command = '', args = [], env = {}, url = '', headers = {} } = record;
    if (transport === 'http') {
      const account = takesAccounts(record) && new AccountAuth(this.accounts.tokens, accountKey(id, userId));
      return { http: { url, headers: this.#opened(id, 'headers', headers), ...(account && { account }) } };
    }
    if (!this.#options.stdio) throw new Error(NO_STDIO);
    return { stdio: { command, args, env: this.#opened(id, 'env', env) } };
  }

  #opened(id: string, member: 'env' | 'headers', sealed: Readonly<Record<string, string>>) {
    const open = ([name, text]: [string, string]) => {
      try {
        return [name, this.secrets.open(text, secretContext(id, member, name))];
      } catch (error) {
        throw new Error(`${member}.${name} cannot be read. ${error instanceof Error ? error.message : ''}`, {
          cause: error,
        });
      }
    };
    return Object.fromEntries(Object.entries(sealed).map(open));
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const turn = this.#turn.then(work);
    this.#turn = turn.catch(() => {});
    return turn;
  }
}

/** For tools of integrations without a prefix: the integration that has the name. */
function approvedNames(records: readonly IntegrationRecord[]): ReadonlyMap<string, string> {
  const open = records.filter(({ toolPrefix }) => toolPrefix === '');
  return new Map(
    open.flatMap(({ name, approved }) =>
      approved.map((tool) => [shownName('', tool.name), `the integration ${name}`] as const),
    ),
  );
}

export function secretContext(id: string, member: 'env' | 'headers', name: string): string {
  return `${id} ${member} ${name}`;
}

const NO_STDIO = 'This server runs no programs for integrations; set STDIO_INTEGRATIONS=on to allow it.';
const NOT_RUNNING: View = {
  status: { state: 'disabled', since: new Date(0).toISOString() },
  tools: [],
  listingHash: undefined,
};
const HEALTH = {
  connected: 'ok',
  connecting: 'degraded',
  disabled: 'down',
  unavailable: 'down',
  wants_oauth: 'down',
  per_person: 'ok',
} as const;
