import { Cron } from 'croner';
import type { Flow } from '../../../resources/flow.ts';
import type { Commit, Readers, Store } from '../../../store/port.ts';
import type { Principal } from '../../access/principal.ts';
import { guardedAmong, isGuarded, isSeen, isThreadSeen } from '../../access/visibility.ts';
import type { Catalog } from '../../registry/catalog-index.ts';
import { ToolError } from '../../registry/errors.ts';
import type { RecordKind } from '../../registry/kind.ts';
import { eventOf, type RecordEvent } from '../event-types.ts';
import { causeProblem, flowProblem, queueRun, refuseRun, type Wish } from '../queue.ts';
import { actingFlow, findRunAs } from '../run-as.ts';
import type { Clock } from './clock.ts';

/** A scheduled time that is further in the past is skipped: after a stop or a change of the clock, missed runs are not made up for. */
const LATEST_MS = 60_000;
/** The longest wait before the clock is read again, because somebody may set the clock. */
const LONGEST_SLEEP_MS = 600_000;
/** The largest number of events that wait. Further events are dropped. */
const MOST_PENDING = 5000;

interface TriggerParts {
  readonly store: Store;
  readonly catalog: Catalog;
  readonly kinds: readonly RecordKind[];
  readonly clock: Clock;
  /** Called after a run was put into the flow's queue. */
  queued(flowId: string): void;
  onFailure(cause: unknown): void;
}

interface Schedule {
  readonly cron: Cron;
  /** Equal for equal schedules. */
  readonly text: string;
  next: Date;
}

/** Begins runs by schedule and by event. It follows the flows, so a change of a flow takes effect with its commit. */
export class FlowTriggers {
  readonly #parts: TriggerParts;
  readonly #schedules = new Map<string, Schedule>();
  /** Flows by the type of event that triggers them. */
  readonly #listening = new Map<string, Set<string>>();
  #forgetTimer = () => {};
  #forgetFlows = () => {};
  #forgetEvents = () => {};
  #work: Promise<void> = Promise.resolve();
  #pending = 0;
  /** Why events began no runs, and how often. */
  readonly #leftOut = new Map<string, number>();

  constructor(parts: TriggerParts) {
    this.#parts = parts;
  }

  async start(): Promise<void> {
    const { store } = this.#parts;
    this.#forgetFlows = store.onCommit((commit) => this.#flowsChanged(commit), ['flows']);
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
    this.#forgetFlows();
    this.#forgetEvents();
    await this.#work;
  }

  #flowsChanged({ changes }: Commit): void {
    for (const { collection, kind, record } of changes) {
      if (collection !== 'flows') continue;
      this.#parts.queued(record.id); // waiting runs may no longer be allowed
      if (kind === 'deleted') this.#leave(record.id);
      else this.#follow(record);
    }
    this.#sleep();
  }

  #happenedIn({ changes, origin }: Commit): void {
    for (const change of changes) {
      const event = eventOf(change, this.#parts.kinds);
      for (const flowId of (event && this.#listening.get(event.type)) ?? []) {
        // The registry passes the principal of the call as the origin of its transactions.
        if (event) this.#note(() => this.#happened(flowId, event, origin as Principal | undefined));
      }
    }
  }

  #note(work: () => Promise<void>): void {
    if (this.#pending >= MOST_PENDING) {
      this.#leaveOut(`${MOST_PENDING} other events waited to be looked at`);
      return;
    }
    this.#pending += 1;
    this.#then(async () => {
      try {
        await work();
      } finally {
        this.#pending -= 1;
        if (this.#pending === 0) this.#tellLeftOut();
      }
    });
  }

  #leaveOut(reason: string): void {
    this.#leftOut.set(reason, (this.#leftOut.get(reason) ?? 0) + 1);
  }

  /** Reports them together, because there are often thousands. */
  #tellLeftOut(): void {
    for (const [reason, count] of this.#leftOut) {
      this.#parts.onFailure(new Error(`Events began no runs of flows, ${count} times: ${reason}`));
    }
    this.#leftOut.clear();
  }

  #follow(flow: Flow): void {
    const { id, trigger } = flow;
    const runs = flowProblem(flow) === undefined;
    const text = runs && trigger.kind === 'cron' ? `${trigger.expression} ${trigger.timezone}` : undefined;
    // A change of something else must not drop a time that has come and was not handled yet.
    if (text !== undefined && this.#schedules.get(id)?.text === text) return;
    this.#leave(id);
    if (!runs) return;
    if (trigger.kind === 'event') {
      if (this.#listening.size === 0)
        this.#forgetEvents = this.#parts.store.onCommit((commit) => this.#happenedIn(commit));
      const flows = this.#listening.get(trigger.type) ?? new Set();
      this.#listening.set(trigger.type, flows.add(id));
    }
    if (trigger.kind !== 'cron' || text === undefined) return;
    try {
      const cron = new Cron(trigger.expression, { paused: true, mode: '5-part', timezone: trigger.timezone });
      const next = cron.nextRun(this.#parts.clock.now());
      if (next) this.#schedules.set(id, { cron, text, next });
    } catch (cause) {
      // The schedule was valid when it was written, for the time zone data of then. The other schedules continue.
      this.#parts.onFailure(new Error(`The schedule of the flow ${id} cannot be followed.`, { cause }));
    }
  }

  #leave(id: string): void {
    this.#schedules.delete(id);
    for (const [type, flows] of this.#listening) {
      flows.delete(id);
      if (flows.size === 0) this.#listening.delete(type);
      if (this.#listening.size === 0) this.#forgetEvents();
    }
  }

  #sleep(): void {
    this.#forgetTimer();
    if (this.#schedules.size === 0) return;
    const now = this.#parts.clock.now().getTime();
    let wait = LONGEST_SLEEP_MS;
    for (const { next } of this.#schedules.values()) wait = Math.min(wait, Math.max(next.getTime() - now, 0));
    this.#forgetTimer = this.#parts.clock.after(wait, () => {
      this.#fire();
      this.#sleep();
    });
  }

  #fire(): void {
    const now = this.#parts.clock.now();
    for (const [id, schedule] of this.#schedules) {
      const at = schedule.next;
      if (at > now) continue;
      const next = schedule.cron.nextRun(now);
      if (next) schedule.next = next;
      else this.#leave(id);
      if (now.getTime() - at.getTime() <= LATEST_MS) this.#then(() => this.#due(id, at));
    }
  }

  /** Runs the work after earlier work, so that runs are queued in the order of their causes. */
  #then(work: () => Promise<void>): void {
    this.#work = this.#work.then(work).catch(this.#parts.onFailure);
  }

  async #due(flowId: string, at: Date): Promise<void> {
    const { store, clock } = this.#parts;
    const wish: Wish = { trigger: { kind: 'cron', at: at.toISOString() }, input: { at: at.toISOString() }, causes: [] };
    const queued = await store.transaction(async (tx) => {
      const flow = await tx.flows.get(flowId);
      if (!flow?.enabled || flow.trigger.kind !== 'cron') return false;
      if (await hasRunAt(tx, flowId, at)) return false; // the clock was set back
      const goesOn = await tx.flowRuns.count({ where: { flowId, status: ['queued', 'running'] } });
      if (goesOn > 0 && flow.overlap !== 'allow') {
        await refuseRun(tx, flow, 'An earlier run had not ended when this one was due.', wish, clock.now());
        return false;
      }
      try {
        await queueRun(tx, flow, wish, clock.now());
        return true;
      } catch (thrown) {
        if (!(thrown instanceof ToolError)) throw thrown;
        await refuseRun(tx, flow, thrown.message, wish, clock.now());
        return false;
      }
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
    if (typeof runAs === 'string') return this.#leaveOut(`${flowId}: ${runAs}`);
    if (!(await maySee(event, actingFlow(flow, runAs, { causes }), store))) return;
    const { type, id } = event;
    const wish: Wish = { trigger: { kind: 'event', type, id }, input: { type, id }, causes };
    try {
      await store.transaction((tx) => queueRun(tx, flow, wish, clock.now()));
      this.#parts.queued(flowId);
    } catch (thrown) {
      if (!(thrown instanceof ToolError)) throw thrown;
      this.#leaveOut(`${flowId}: ${thrown.message}`);
    }
  }
}

/** Whether one of the last runs was begun for this time of the schedule. */
async function hasRunAt({ flowRuns }: Pick<Readers, 'flowRuns'>, flowId: string, at: Date): Promise<boolean> {
  const { records } = await flowRuns.find({ where: { flowId }, limit: 100 });
  return records.some(({ trigger }) => trigger.kind === 'cron' && trigger.at === at.toISOString());
}

/**
 * Whether the principal may see the record now and could see it at the time of the event. For a record that was deleted since, only the
 * time of the event counts.
 */
async function maySee({ need, record }: RecordEvent, principal: Principal, store: Store): Promise<boolean> {
  const { scope, resource, ids } = need;
  if (!principal.rights.allows({ scope, needs: [{ resource, op: 'read', ids, record }] })) return false;
  if (isGuarded(record) && !isSeen(record, principal)) return false;
  const guarded = await guardedAmong(store, [record.id]);
  if (!guarded.every((found) => isSeen(found, principal))) return false;
  if (isGuarded(record) || typeof record.threadId !== 'string') return true;
  return isThreadSeen(store, record.threadId, principal);
}

/** The chain of flows in whose runs the principal acts. */
export function causesOf(principal: Principal | undefined): readonly string[] {
  return flowIn(principal)?.causes ?? [];
}

/** The run in which the principal acts, if there is one. */
export function runOf(principal: Principal): string | undefined {
  return flowIn(principal)?.runId;
}

function flowIn(principal: Principal | undefined): Principal | undefined {
  for (let acting = principal; acting; acting = acting.actsFor) if (acting.causes) return acting;
  return undefined;
}
