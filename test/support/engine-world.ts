import type { Store } from '../../store/port.ts';
import { openPostgresStore } from '../../store/postgres/open.ts';
import { principalOf as keyPrincipal } from '../../tools/core/access/key-principal.ts';
import { hashSecret, newSecret, prefixOf } from '../../tools/core/access/key-secret.ts';
import type { Principal } from '../../tools/core/access/principal.ts';
import type { ServerContext } from '../../tools/core/registry/context.ts';
import { createRegistry, type Registry } from '../../tools/core/registry/registry.ts';
import { prepareSettings } from '../../tools/settings/defaults.ts';
import { closedAtEnd } from './at-end.ts';
import { outcomesOf } from './calls.ts';
import { testFacts, toolAnswer } from './registry.ts';
import { dataFolder, openStoreIn, removeFolder } from './store.ts';

/** Where the data of a world lies. */
export interface Place {
  /** Default: one of its own, removed at the end. */
  readonly folder?: string;
  /** Instead of a folder, a database, which it may share with others. */
  readonly url?: string;
}

type StoreOptions = Parameters<typeof openStoreIn>[1] & { readonly now: () => Date };

/** A registry with engines that work by themselves, on a store of its own; it can end and start again on the same data. */
export abstract class EngineWorld {
  readonly folder: string;
  readonly #place: Place;
  readonly failures: unknown[] = [];
  store!: Store;
  registry!: Registry;
  /** A key with every right, of an active owner. */
  admin!: Principal;

  readonly close = closedAtEnd(async () => {
    await this.stop();
    if (!this.#place.folder) await removeFolder(this.folder);
  });

  protected constructor(folder: string, place: Place) {
    this.folder = folder;
    this.#place = place;
  }

  /** Starts the world that `make` makes, on the folder that is given or a new one. */
  protected static async started<World extends EngineWorld>(place: Place, make: (folder: string) => World) {
    const world = make(place.folder ?? (await dataFolder()));
    await world.start();
    world.admin = await world.key(['admin']);
    return world;
  }

  /** Opens the store and makes the registry on it, and starts the engines. */
  abstract start(): Promise<void>;

  /** Ends the engines and the store, with what is going on left as it is. */
  abstract stop(): Promise<void>;

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  protected readonly onFailure = (cause: unknown): void => void this.failures.push(cause);

  protected async openStore({ now, ...options }: StoreOptions): Promise<void> {
    const { url } = this.#place;
    this.store = await (url
      ? openPostgresStore({ url, now, poolSize: 6 })
      : openStoreIn(this.folder, { now, ...options }));
    await prepareSettings(this.store);
  }

  protected makeRegistry(facts: Pick<ServerContext, 'now' | 'catalog'> & Partial<ServerContext>): void {
    const { store, onFailure } = this;
    const server = testFacts(store, facts);
    this.registry = createRegistry({ store, server, repeatsSecret: 'the same after a restart', onFailure });
  }

  /** A key of these rights, as a door would have found it. */
  async key(scopes: readonly string[], grants?: readonly string[]): Promise<Principal> {
    return this.store.transaction(async (tx) => {
      const email = `${Math.random().toString(36).slice(2)}@example.com`;
      const owner = await tx.adminUsers.insert({ email, role: 'owner', isActive: true });
      const secret = newSecret('key');
      const proof = { prefix: prefixOf('key', secret) ?? '', hash: hashSecret(secret) };
      const rights = { scopes: [...scopes], ...(grants && { grants: [...grants] }) };
      const made = { name: email, ...proof, ...rights, ownerId: owner.id, createdBy: owner.id };
      return keyPrincipal(await tx.apiKeys.insert(made), owner);
    });
  }

  readonly #outcomes = outcomesOf(async (tool, input = {}, principal: Principal = this.admin) =>
    toolAnswer(await this.registry.call({ principal, tool, input, door: 'mcp', requestId: 'test' })),
  );
  readonly call = this.#outcomes.call;
  readonly refused = this.#outcomes.refused;
  readonly codeOf = this.#outcomes.codeOf;

  // biome-ignore lint/suspicious/noExplicitAny: tests look into outputs freely
  async must(tool: string, input: object = {}, principal?: Principal): Promise<any> {
    const answer = await this.call(tool, input, principal);
    if ('error' in answer) throw new Error(`${tool}: ${JSON.stringify(answer.error)}`, { cause: this.failures[0] });
    return answer.output;
  }
}
