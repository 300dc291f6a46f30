import type { Flow } from '../../resources/flow.ts';
import type { FlowRun } from '../../resources/flow-run.ts';
import { catalog as ownCatalog } from '../../tools/catalog.ts';
import type { Principal } from '../../tools/core/access/principal.ts';
import { indexCatalog } from '../../tools/core/registry/catalog-index.ts';
import type { Tool } from '../../tools/core/registry/define-tool.ts';
import { type Clock, systemClock } from '../../tools/flows/run/clock.ts';
import { FlowEngine } from '../../tools/flows/run/engine.ts';
import { EngineWorld, type Place } from './engine-world.ts';

interface Options extends Place {
  readonly clock?: Clock;
  /** Beside those of the product. */
  readonly tools?: readonly Tool[];
}

/** A registry with the engine that runs flows, on a store of its own. */
export class FlowWorld extends EngineWorld {
  readonly #options: Options;
  /** Times of schedules that have come, and for which no run was begun or refused yet. */
  due = 0;
  engine!: FlowEngine;

  private constructor(folder: string, options: Options) {
    super(folder, options);
    this.#options = options;
  }

  static open(options: Options = {}): Promise<FlowWorld> {
    return EngineWorld.started(options, (folder) => new FlowWorld(folder, options));
  }

  async start(): Promise<void> {
    const { clock = systemClock, tools = [] } = this.#options;
    const now = () => clock.now();
    await this.openStore({ now });
    this.#countDue();
    this.engine = new FlowEngine({ store: this.store, clock, onFailure: this.onFailure });
    const catalog = indexCatalog([...ownCatalog.entries, ...tools.map((tool) => ({ group: 'Test', tool }))]);
    this.makeRegistry({ now, catalog, flows: this.engine });
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

  async stop(): Promise<void> {
    await this.engine.close();
    await this.store.close();
  }
}
