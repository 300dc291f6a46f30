import { Cron } from 'croner';
import type { Flow } from '../../resources/flow.ts';
import type { Commit, Store } from '../../store/port.ts';
import type { Principal } from '../access/principal.ts';
import type { Catalog } from '../catalog-index.ts';
import { ToolError } from '../errors.ts';
import { eventOf, type RecordEvent } from '../flows/event-types.ts';
import { causeProblem, queueRun, refuseRun, type Wish } from '../flows/queue.ts';
import { actingFlow, findRunAs } from '../flows/run-as.ts';
import { guardedAmong, isSeen } from '../threads/visibility.ts';
import type { Clock } from './flow-clock.ts';

/** A scheduled time that is further back than this is missed: after a stop or a change of the clock nothing is made up for. */
const LATEST_MS = 60_000;
/** The clock is looked at this often, for it may be set. */
const LONGEST_SLEEP_MS = 600_000;

export interface TriggerParts {
  readonly store: Store;
  readonly catalog: Catalog;
  readonly clock: Clock;
  /** Told after a run was put into the queue of the flow. */
  queued(flowId: string): void;
  onFailure(cause: unknown): void;
}

/** Begins runs by schedule and by event. It follows the flows, so that a change of one takes effect with its commit. */
export class FlowTriggers {
  readonly #parts: TriggerParts;
  readonly #next = new Map<string, Date>();
  readonly #schedules = new Map<string, Cron>();
  /** Flows by the type of event that they wait for. */
  readonly #listening = new Map<string, Set<string>>();
  #forgetTimer = () => {};
  #forgetListener = () => {};
  #work: Promise<void> = Promise.resolve();

  constructor(parts: TriggerParts) {
    this.#parts = parts;
  }

  async start(): Promise<void> {
    const { store } = this.#parts;
    this.#forgetListener = store.onCommit((commit) => this.#committed(commit));
    let after: Parameters<typeof store.flows.find>[0]['after'];
    do {
      const page = await store.flows.find({ where: { enabled: true }, order: 'oldest', limit: 200, after });
      for (const flow of page.records) this.#follow(flow);
      after = page.next ?? undefined;
    } while (after);
    this.#sleep();
  }

  async close(): Promise<void> {
    this.#forgetTimer();
    this.#forgetListener();
    await this.#work;
  }

  #committed({ changes, origin }: Commit): void {
    const events: RecordEvent[] = [];
    for (const change of changes) {
      if (change.collection === 'flows') {
        this.#leave(change.record.id);
        this.#parts.queued(change.record.id); // what waits may not be run any more
        // The record of a commit is one of its collection's.
        if (change.kind !== 'deleted') this.#follow(change.record as unknown as Flow);
      }
      const event = this.#listening.size > 0 ? eventOf(change) : undefined;
      if (event && this.#listening.has(event.type)) events.push(event);
    }
    if (changes.some(({ collection }) => collection === 'flows')) this.#sleep();
    for (const event of events) {
      for (const flowId of this.#listening.get(event.type) ?? []) {
        // The registry gives the principal of the call with its transactions.
        this.#then(() => this.#happened(flowId, event, origin as Principal | undefined));
      }
    }
  }

  #follow({ id, enabled, trigger }: Flow): void {
    if (!enabled) return;
    if (trigger.kind === 'event') {
      const flows = this.#listening.get(trigger.type) ?? new Set();
      this.#listening.set(trigger.type, flows.add(id));
    }
    if (trigger.kind !== 'cron') return;
    const cron = new Cron(trigger.expression, { paused: true, mode: '5-part', timezone: trigger.timezone });
    const next = cron.nextRun(this.#parts.clock.now());
    if (!next) return;
    this.#schedules.set(id, cron);
    this.#next.set(id, next);
  }

  #leave(id: string): void {
    this.#schedules.delete(id);
    this.#next.delete(id);
    for (const [type, flows] of this.#listening) {
      flows.delete(id);
      if (flows.size === 0) this.#listening.delete(type);
    }
  }

  #sleep(): void {
    this.#forgetTimer();
    if (this.#next.size === 0) return;
    const now = this.#parts.clock.now().getTime();
    const first = Math.min(...[...this.#next.values()].map((at) => at.getTime()));
    this.#forgetTimer = this.#parts.clock.after(Math.min(Math.max(first - now, 0), LONGEST_SLEEP_MS), () => {
      this.#fire();
      this.#sleep();
    });
  }

  #fire(): void {
    const now = this.#parts.clock.now();
    for (const [id, at] of this.#next) {
      if (at > now) continue;
      const next = this.#schedules.get(id)?.nextRun(now);
      if (next) this.#next.set(id, next);
      else this.#leave(id);
      if (now.getTime() - at.getTime() <= LATEST_MS) this.#then(() => this.#due(id, at));
    }
  }

  /** One after the other, so that runs are queued in the order of what began them. */
  #then(work: () => Promise<void>): void {
    this.#work = this.#work.then(work).catch(this.#parts.onFailure);
  }

  async #due(flowId: string, at: Date): Promise<void> {
    const { store, clock } = this.#parts;
    const wish: Wish = { trigger: { kind: 'cron', at: at.toISOString() }, input: { at: at.toISOString() }, causes: [] };
    const queued = await store.transaction(async (tx) => {
      const flow = await tx.flows.get(flowId);
      if (!flow?.enabled || flow.trigger.kind !== 'cron') return false;
      const goesOn = await tx.flowRuns.count({ where: { flowId, status: ['queued', 'running'] } });
      if (goesOn > 0 && flow.overlap !== 'allow') {
        await refuseRun(tx, flow, 'An earlier run had not ended when this one was due.', wish, clock.now());
        return false;
      }
      await queueRun(tx, flow, wish, clock.now());
      return true;
    });
    if (queued) this.#parts.queued(flowId);
  }

  async #happened(flowId: string, event: RecordEvent, origin: Principal | undefined): Promise<void> {
    const { store, catalog, clock } = this.#parts;
    const causes = causesOf(origin);
    const flow = await store.flows.get(flowId);
    if (!flow?.enabled || flow.trigger.kind !== 'event' || flow.trigger.type !== event.type) return;
    if (causeProblem(flow, causes)) return;
    const runAs = await findRunAs(flow.runAs, store, { catalog, now: clock.now() });
    if (typeof runAs === 'string' || !(await maySee(event, actingFlow(flow, runAs, causes), store))) return;
    const { type, id } = event;
    const wish: Wish = { trigger: { kind: 'event', type, id }, input: { type, id }, causes };
    try {
      await store.transaction((tx) => queueRun(tx, flow, wish, clock.now()));
      this.#parts.queued(flowId);
    } catch (thrown) {
      if (!(thrown instanceof ToolError)) throw thrown;
      this.#parts.onFailure(new Error(`The flow ${flowId} was not run for ${type} of ${id}: ${thrown.message}`));
    }
  }
}

async function maySee({ need, record }: RecordEvent, principal: Principal, store: Store): Promise<boolean> {
  const { scope, resource, ids } = need;
  if (!principal.rights.allows({ scope, needs: [{ resource, op: 'read', ids }] })) return false;
  const threads = typeof record.threadId === 'string' ? [record.threadId] : [];
  const guarded = await guardedAmong(store, [record.id, ...threads]);
  return guarded.every((found) => isSeen(found, principal));
}

/** The flows in whose runs somebody acts. */
export function causesOf(principal: Principal | undefined): readonly string[] {
  for (let acting = principal; acting; acting = acting.actsFor) if (acting.causes) return acting.causes;
  return [];
}
