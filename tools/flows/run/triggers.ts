import type { Flow } from '../../../resources/flow.ts';
import { ELSEWHERE } from '../../../store/cluster-port.ts';
import type { JobTable } from '../../../store/jobs-port.ts';
import type { Commit, Readers, Store } from '../../../store/port.ts';
import { behind } from '../../core/access/ask-first.ts';
import type { Principal } from '../../core/access/principal.ts';
import { ToolError } from '../../core/errors.ts';
import type { RecordKind } from '../../core/kind.ts';
import type { Catalog } from '../../core/registry/catalog-index.ts';
import { EnabledRecords } from '../../core/registry/enabled-records.ts';
import { eventOf, maySee, type RecordEvent } from '../event-types.ts';
import { actingFlow, findRunAs } from '../run-as.ts';
import {
  causeProblem,
  flowProblem,
  OPEN,
  queueProblem,
  queueRun,
  queueRuns,
  type RunRequest,
  refuseRun,
} from '../run-queue.ts';
import { type Clock, pause } from './clock.ts';
import { Schedules } from './schedules.ts';

/** How long after a scheduled time the other processes check whether the leader began the run. Each checks at another time. */
const SEE_AFTER_MS = 5_000;
const SEE_WITHIN_MS = 15_000;
/** The largest number of events that wait. Further events are dropped. */
export const MOST_PENDING = 5000;
/** So many events are looked at with one question about each of their flows, and begin their runs together. */
const AT_ONCE = 100;

interface TriggerDeps {
  readonly store: Store;
  readonly catalog: Catalog;
  readonly kinds: readonly RecordKind[];
  readonly clock: Clock;
  /** A run of the flow was queued. */
  queued(flowId: string): void;
  /** The flow was changed or deleted. */
  changed(flowId: string): void;
  onFailure(cause: unknown): void;
}

interface PendingEvent {
  readonly flowId: string;
  readonly event: RecordEvent;
  readonly origin: Principal | undefined;
}

interface Listener {
  readonly flow: Flow;
  /** Whom its runs act as, or why they cannot. */
  readonly runAs: Principal | string;
  readonly problem: string | undefined;
  readonly wishes: RunRequest[];
}

/** Listeners by flow; undefined if nothing begins runs any more. */
type Listeners = Map<string, Listener | undefined>;

/** Begins runs by schedule and by event. It follows the flows, so a change of a flow takes effect with its commit. */
export class FlowTriggers {
  readonly #deps: TriggerDeps;
  readonly #following: EnabledRecords<'flows'>;
  readonly #schedules: Schedules;
  readonly #listening = new Map<string, Set<string>>();
  #forgetFlows = () => {};
  #forgetEvents = () => {};
  readonly #close = new AbortController();
  #work: Promise<void> = Promise.resolve();
  readonly #events: PendingEvent[] = [];
  readonly #leftOut = new Map<string, number>();

  constructor(deps: TriggerDeps) {
    this.#deps = deps;
    this.#schedules = new Schedules({ ...deps, due: (flowId, at) => this.#due(flowId, at) });
    this.#following = new EnabledRecords({
      store: deps.store,
      name: 'flows',
      put: (flow) => this.#follow(flow),
      drop: (id) => this.#leave(id),
      settled: () => this.#schedules.sleep(),
      onFailure: deps.onFailure,
    });
  }

  readonly jobs: JobTable = {
    run_on_schedule: ({ flowId, at }) => this.#then(() => this.#begin(String(flowId), new Date(at ?? ''))),
  };

  async start(): Promise<void> {
    const { store, changed } = this.#deps;
    this.#forgetFlows = store.onCommit(
      ({ changes }) => {
        for (const { collection, kind, record } of changes) {
          const mayHaveRuns = collection === 'flows' && kind !== 'created';
          if (mayHaveRuns) changed(record.id); // waiting runs may no longer be allowed
        }
      },
      ['flows'],
    );
    await this.#following.start();
  }

  async close(): Promise<void> {
    this.#close.abort();
    this.#schedules.close();
    this.#following.close();
    this.#forgetFlows();
    this.#forgetEvents();
    await this.#work;
  }

  #happenedIn({ changes, origin }: Commit): void {
    if (origin === ELSEWHERE) return; // the process that made the changes begins the runs
    for (const change of changes) {
      const event = eventOf(change, this.#deps.kinds);
      for (const flowId of (event && this.#listening.get(event.type)) ?? []) {
        // The registry passes the principal of the call as the origin of its transactions.
        if (event) this.#note({ flowId, event, origin: origin as Principal | undefined });
      }
    }
  }

  #note(noted: PendingEvent): void {
    if (this.#events.length >= MOST_PENDING) this.#leaveOut(`${MOST_PENDING} other events waited to be looked at`);
    else if (this.#events.push(noted) === 1) void this.#then(() => this.#lookAtEvents());
  }

  async #lookAtEvents(): Promise<void> {
    while (this.#events.length > 0) {
      const batch = this.#events.slice(0, AT_ONCE);
      const listeners: Listeners = new Map();
      for (const noted of batch) await this.#happened(noted, listeners).catch(this.#deps.onFailure);
      for (const listener of listeners.values()) await this.#beginRuns(listener).catch(this.#deps.onFailure);
      this.#events.splice(0, batch.length);
    }
    this.#tellLeftOut();
  }

  #leaveOut(reason: string, times = 1): void {
    this.#leftOut.set(reason, (this.#leftOut.get(reason) ?? 0) + times);
  }

  /** Reports them together, because there are often thousands. */
  #tellLeftOut(): void {
    for (const [reason, count] of this.#leftOut) {
      this.#deps.onFailure(new Error(`Events began no runs of flows, ${count} times: ${reason}`));
    }
    this.#leftOut.clear();
  }

  #follow(flow: Flow): void {
    const { id, trigger } = flow;
    this.#deafen(id);
    this.#schedules.follow(flow);
    if (trigger.kind !== 'event' || flowProblem(flow) !== undefined) return;
    if (this.#listening.size === 0)
      this.#forgetEvents = this.#deps.store.onCommit((commit) => this.#happenedIn(commit));
    const flows = this.#listening.get(trigger.type) ?? new Set();
    this.#listening.set(trigger.type, flows.add(id));
  }

  #leave(id: string): void {
    this.#schedules.leave(id);
    this.#deafen(id);
  }

  #deafen(id: string): void {
    for (const [type, flows] of this.#listening) {
      flows.delete(id);
      if (flows.size === 0) this.#listening.delete(type);
      if (this.#listening.size === 0) this.#forgetEvents();
    }
  }

  /** Runs the work after earlier work, so that runs are queued in the order of their causes. */
  #then(work: () => Promise<void>): Promise<void> {
    const done = this.#work.then(work);
    this.#work = done.catch(() => {});
    return done;
  }

  /** Has a run begun for this time. All processes come here; those that do not lead only see that it was begun. */
  async #due(flowId: string, at: Date): Promise<void> {
    const { store, clock, onFailure } = this.#deps;
    const { jobs } = store;
    try {
      if (!jobs.isLeader) {
        await pause(clock, SEE_AFTER_MS + Math.random() * (SEE_WITHIN_MS - SEE_AFTER_MS), this.#close.signal);
        if (this.#close.signal.aborted || (await hasRunAt(store, flowId, at))) return;
      }
      const time = at.toISOString();
      await jobs.add('run_on_schedule', { flowId, at: time }, { key: `${flowId} ${time}` });
    } catch (cause) {
      onFailure(cause);
    }
  }

  async #begin(flowId: string, at: Date): Promise<void> {
    const { store, clock } = this.#deps;
    const wish: RunRequest = {
      trigger: { kind: 'cron', at: at.toISOString() },
      input: { at: at.toISOString() },
      causes: [],
    };
    const queued = await store.transaction(async (tx) => {
      const flow = await tx.flows.get(flowId);
      if (!flow?.enabled || flow.trigger.kind !== 'cron') return false;
      if (await hasRunAt(tx, flowId, at)) return false; // the clock was set back
      const goesOn = await tx.flowRuns.count({ where: { flowId, status: OPEN } });
      if (goesOn > 0 && flow.overlap !== 'allow') {
        await refuseRun(tx, flow, 'An earlier run had not ended when this one was due.', wish, clock.now());
        return false;
      }
      try {
        await queueRun(tx, flow, wish);
        return true;
      } catch (thrown) {
        if (!(thrown instanceof ToolError)) throw thrown;
        await refuseRun(tx, flow, thrown.message, wish, clock.now());
        return false;
      }
    });
    if (queued) this.#deps.queued(flowId);
  }

  async #happened({ flowId, event, origin }: PendingEvent, listeners: Listeners): Promise<void> {
    if (!listeners.has(flowId)) listeners.set(flowId, await this.#listener(flowId));
    const listener = listeners.get(flowId);
    if (!listener) return;
    const { flow, runAs, problem, wishes } = listener;
    const causes = causesOf(origin);
    if (flow.trigger.kind !== 'event' || flow.trigger.type !== event.type || causeProblem(flow, causes)) return;
    if (typeof runAs === 'string') return this.#leaveOut(`${flowId}: ${runAs}`);
    if (!(await maySee(event, actingFlow(flow, runAs, { causes }), this.#deps))) return;
    if (problem) return this.#leaveOut(`${flowId}: ${problem}`);
    const { type, id } = event;
    const askedBy = origin && (await behind(origin, this.#deps.store));
    wishes.push({ trigger: { kind: 'event', type, id }, input: { type, id }, causes, askedBy });
  }

  /** Asked outside of a transaction: many events that come together would be in each other's way. */
  async #listener(flowId: string): Promise<Listener | undefined> {
    const { store, catalog, clock } = this.#deps;
    const flow = await store.flows.get(flowId);
    if (!flow?.enabled) return undefined;
    const runAs = await findRunAs(flow.runAs, store, { catalog, now: clock.now() });
    return { flow, runAs, problem: await queueProblem(store, flowId), wishes: [] };
  }

  async #beginRuns(listener: Listener | undefined): Promise<void> {
    if (!listener || listener.wishes.length === 0) return;
    const { flow, wishes } = listener;
    const { runs, problem } = await this.#deps.store.transaction((tx) => queueRuns(tx, flow, wishes));
    if (runs.length < wishes.length) this.#leaveOut(`${flow.id}: ${problem}`, wishes.length - runs.length);
    for (const { flowId } of runs) this.#deps.queued(flowId);
  }
}

async function hasRunAt({ flowRuns }: Pick<Readers, 'flowRuns'>, flowId: string, at: Date): Promise<boolean> {
  const { records } = await flowRuns.find({ where: { flowId }, limit: 100 });
  return records.some(({ trigger }) => trigger.kind === 'cron' && trigger.at === at.toISOString());
}

export function causesOf(principal: Principal | undefined): readonly string[] {
  return flowIn(principal)?.causes ?? [];
}

export function runOf(principal: Principal): string | undefined {
  return flowIn(principal)?.runId;
}

function flowIn(principal: Principal | undefined): Principal | undefined {
  for (let acting = principal; acting; acting = acting.actsFor) if (acting.causes) return acting;
  return undefined;
}
