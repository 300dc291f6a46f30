import type { SettingsRecord } from '../../../resources/settings.ts';
import { EventSet } from '../model/event-set.ts';
import type { EventTable } from '../model/events.ts';
import type { ImportedModel } from '../model/imported-model.ts';
import type { Settling } from '../model/settling.ts';
import { Funnel } from './funnel.ts';

type Analytics = SettingsRecord['analytics'];

const indexes = new WeakMap<EventTable, ProductIndexes>();

/** The events by what the settings call activity, features and steps. Made again when these settings change. */
export function indexesOf({ events }: ImportedModel, { analytics }: Pick<SettingsRecord, 'analytics'>): ProductIndexes {
  const key = JSON.stringify(analytics);
  const before = indexes.get(events);
  if (before?.key === key) return before;
  before?.leave();
  const made = new ProductIndexes(events, analytics, key);
  indexes.set(events, made);
  return made;
}

/** Each index is made when it is first asked for. */
class ProductIndexes {
  readonly key: string;
  readonly #events: EventTable;
  readonly #analytics: Analytics;
  readonly #sets = new Map<string, EventSet>();
  #funnel: Funnel | undefined;

  constructor(events: EventTable, analytics: Analytics, key: string) {
    this.#events = events;
    this.#analytics = analytics;
    this.key = key;
  }

  get activity(): EventSet {
    const { activityEvents } = this.#analytics;
    return activityEvents === 'all' ? this.#events.all : this.of(activityEvents);
  }

  get funnel(): Funnel {
    if (!this.#funnel) {
      this.#funnel = new Funnel(this.#events, this.#analytics.funnel);
      this.#events.feed.follow(this.#funnel);
    }
    return this.#funnel;
  }

  /** The events with these names. */
  of(names: readonly string[]): EventSet {
    const key = JSON.stringify([...names].sort());
    let set = this.#sets.get(key);
    if (!set) {
      set = new EventSet(this.#events, names);
      this.#events.feed.follow(set);
      this.#sets.set(key, set);
    }
    return set;
  }

  /** The parts that must be up to date before these sets are used. */
  *parts(sets: readonly EventSet[]): Generator<Settling> {
    yield this.#events.feed;
    for (const { byTime } of sets) yield byTime;
  }

  /** Stops keeping the indexes up to date. */
  leave(): void {
    for (const set of this.#sets.values()) this.#events.feed.leave(set);
    if (this.#funnel) this.#events.feed.leave(this.#funnel);
  }
}
