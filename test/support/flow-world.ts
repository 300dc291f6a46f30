import type { Flow } from '../../resources/flow.ts';
import type { FlowRun } from '../../resources/flow-run.ts';
import type { Store } from '../../store/port.ts';
import { openPostgresStore } from '../../store/postgres/open.ts';
import { principalOf as keyPrincipal } from '../../tools/access/key-principal.ts';
import { hashSecret, newSecret, prefixOf } from '../../tools/access/key-secret.ts';
import type { Principal } from '../../tools/access/principal.ts';
import { catalog as ownCatalog } from '../../tools/catalog.ts';
import { type Clock, systemClock } from '../../tools/flows/run/clock.ts';
import { FlowEngine } from '../../tools/flows/run/engine.ts';
import { indexCatalog } from '../../tools/registry/catalog-index.ts';
import type { Tool } from '../../tools/registry/define-tool.ts';
import { createRegistry, type Registry } from '../../tools/registry/registry.ts';
import { prepareSettings } from '../../tools/settings/defaults.ts';
import { closedAtEnd } from './at-end.ts';
import type { ToolAnswer } from './calls.ts';
import { testFacts, toolAnswer } from './registry.ts';
import { dataFolder, openStoreIn, removeFolder } from './store.ts';

interface Options {
  readonly clock?: Clock;
  /** Beside those of the product. */
  readonly tools?: readonly Tool[];
  /** Default: one of its own, removed at the end. */
  readonly folder?: string;
  /** Instead, on this database, which it may share with others. */
  readonly url?: string;
}

/** A registry with the engine that runs flows, on a store of its own. */
export class FlowWorld {
  readonly #folder: string;
  readonly #options: Options;
  readonly failures: unknown[] = [];
  /** Times of schedules that have come, and for which no run was begun or refused yet. */
  due = 0;
  store!: Store;
  registry!: Registry;
  engine!: FlowEngine;
  /** A key with every right, of an active owner. */
  admin!: Principal;

  readonly close = closedAtEnd(async () => {
    await this.stop();
    if (!this.#options.folder) await removeFolder(this.#folder);
  });

  private constructor(folder: string, options: Options) {
    this.#folder = folder;
    this.#options = options;
  }

  static async open(options: Options = {}): Promise<FlowWorld> {
    const folder = options.folder ?? (await dataFolder());
    const world = new FlowWorld(folder, options);
    await world.#start();
    world.admin = await world.key(['admin']);
    return world;
  }

  async #start(): Promise<void> {
    const { clock = systemClock, tools = [] } = this.#options;
    const now = () => clock.now();
    const { url } = this.#options;
    this.store = await (url ? openPostgresStore({ url, now, poolSize: 6 }) : openStoreIn(this.#folder, { now }));
    await prepareSettings(this.store);
    this.#countDue();
    const onFailure = (cause: unknown) => void this.failures.push(cause);
    this.engine = new FlowEngine({ store: this.store, clock, onFailure });
    const catalog = indexCatalog([...ownCatalog.entries, ...tools.map((tool) => ({ group: 'Test', tool }))]);
    const server = testFacts(this.store, { now, catalog, flows: this.engine });
    this.registry = createRegistry({ store: this.store, server, repeatsSecret: 'the same after a restart', onFailure });
    await this.engine.start(this.registry);
  }

  #countDue(): void {
    const { jobs } = this.store;
    const [add, serve] = [jobs.add.bind(jobs), jobs.serve.bind(jobs)];
    this.due = 0;
    jobs.add = (name, ...rest) => {
      if (name === 'run_on_schedule') this.due += 1;
      return add(name, ...rest);
    };
    jobs.serve = (work, onFailure) => {
      const { run_on_schedule: begin } = work;
      const counted: typeof begin = async (payload) => {
        await begin?.(payload);
        this.due -= 1;
      };
      return serve(begin ? { ...work, run_on_schedule: counted } : work, onFailure);
    };
  }

  /** A key of these rights, as a door would have found it. */
  async key(scopes: readonly string[], grants?: readonly string[]): Promise<Principal> {
    return this.store.transaction(async (tx) => {
      const email = `${Math.random().toString(36).slice(2)}@example.com`;
      const owner = await tx.adminUsers.insert({ email, role: 'owner', isActive: true });
      const secret = newSecret('key');
      const proof = { prefix: prefixOf('key', secret) ?? '', hash: hashSecret(secret) };
      const rights = { scopes: [...scopes], ...(grants && { grants: [...grants] }) };
      return keyPrincipal(
        await tx.apiKeys.insert({ name: email, ...proof, ...rights, ownerId: owner.id, createdBy: owner.id }),
        owner,
      );
    });
  }

  async call(tool: string, input: object, principal: Principal = this.admin): Promise<ToolAnswer> {
    return toolAnswer(await this.registry.call({ principal, tool, input, door: 'mcp', requestId: 'test' }));
  }

  // biome-ignore lint/suspicious/noExplicitAny: tests look into outputs freely
  async must(tool: string, input: object, principal?: Principal): Promise<any> {
    const answer = await this.call(tool, input, principal);
    if ('error' in answer) throw new Error(`${tool}: ${JSON.stringify(answer.error)}`);
    return answer.output;
  }

  flow(members: object, principal?: Principal): Promise<Flow> {
    return this.must('create_flow', { name: 'test', ...members }, principal);
  }

  run(id: string, input: object = {}, principal?: Principal): Promise<FlowRun> {
    return this.must('trigger_flow', { id, input, wait: true }, principal);
  }

  /** The runs of a flow, oldest first. */
  async runs(id: string): Promise<FlowRun[]> {
    return (await this.must('list_flow_runs', { id, limit: 100 })).data.toReversed();
  }

  /** Ends the server, with what is going on left as it is, and starts another one on the same store. */
  async restart(): Promise<void> {
    await this.stop();
    await this.#start();
  }

  async stop(): Promise<void> {
    await this.engine.close();
    await this.store.close();
  }

  async start(): Promise<void> {
    await this.#start();
  }
}
