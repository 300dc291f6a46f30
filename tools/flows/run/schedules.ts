import { Cron } from 'croner';
import type { Flow } from '../../../resources/flow.ts';
import { flowProblem } from '../run-queue.ts';
import type { Clock } from './clock.ts';

/** A scheduled time that is further in the past is skipped: after a stop or a change of the clock, missed runs are not made up for. */
export const LATEST_MS = 60_000;
/** The longest wait before the clock is read again, because somebody may set the clock. */
const LONGEST_SLEEP_MS = 600_000;

interface SchedulesDeps {
  readonly clock: Clock;
  due(flowId: string, at: Date): void;
  onFailure(cause: unknown): void;
}

interface Schedule {
  readonly cron: Cron;
  readonly text: string;
  next: Date;
}

/** Calls back at the times at which flows are scheduled. */
export class Schedules {
  readonly #deps: SchedulesDeps;
  readonly #schedules = new Map<string, Schedule>();
  #forgetTimer = () => {};

  constructor(deps: SchedulesDeps) {
    this.#deps = deps;
  }

  /** Follows the schedule of the flow as it is now, if it has one. Nothing is called back before `sleep`. */
  follow(flow: Flow): void {
    const { id, trigger } = flow;
    const isScheduled = trigger.kind === 'cron' && flowProblem(flow) === undefined;
    const text = isScheduled ? `${trigger.expression} ${trigger.timezone}` : undefined;
    // A change of something else must not drop a time that has come and was not handled yet.
    if (text !== undefined && this.#schedules.get(id)?.text === text) return;
    this.leave(id);
    if (!isScheduled || text === undefined) return;
    try {
      const cron = new Cron(trigger.expression, { paused: true, mode: '5-part', timezone: trigger.timezone });
      const next = cron.nextRun(this.#deps.clock.now());
      if (next) this.#schedules.set(id, { cron, text, next });
    } catch (cause) {
      // The schedule was valid when it was written, for the time zone data of then. The other schedules continue.
      this.#deps.onFailure(new Error(`The schedule of the flow ${id} cannot be followed.`, { cause }));
    }
  }

  leave(flowId: string): void {
    this.#schedules.delete(flowId);
  }

  sleep(): void {
    this.#forgetTimer();
    if (this.#schedules.size === 0) return;
    const now = this.#deps.clock.now().getTime();
    let wait = LONGEST_SLEEP_MS;
    for (const { next } of this.#schedules.values()) wait = Math.min(wait, Math.max(next.getTime() - now, 0));
    this.#forgetTimer = this.#deps.clock.after(wait, () => {
      this.#fire();
      this.sleep();
    });
  }

  close(): void {
    this.#forgetTimer();
  }

  #fire(): void {
    const now = this.#deps.clock.now();
    for (const [id, schedule] of this.#schedules) {
      const at = schedule.next;
      if (at > now) continue;
      const next = schedule.cron.nextRun(now);
      if (next) schedule.next = next;
      else this.leave(id);
      if (now.getTime() - at.getTime() <= LATEST_MS) this.#deps.due(id, at);
    }
  }
}
