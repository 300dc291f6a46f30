import type { SettingsRecord } from '../../../resources/settings.ts';
import type { Model } from '../model/model.ts';
import { Labels } from '../model/tables.ts';
import { Money, type Warning } from './money.ts';
import { PHASES, type Step, timelineOf } from './timeline.ts';

/** A change of one customer's or subscription's standing; parallel arrays in order of time. */
export interface Changes {
  readonly time: Float64Array;
  readonly who: Uint32Array;
  readonly mrr: Float64Array;
}

/** Everything that recurring revenue ever did, in the workspace currency. */
export interface Book {
  readonly money: Money;
  readonly warnings: { readonly warnings?: Warning[] };
  /** What each customer brings a month from a time on. */
  readonly customers: Changes & { readonly count: number };
  readonly uids: Labels;
  /** What each subscription is and brings from a time on; `phase` indexes PHASES. */
  readonly subscriptions: Changes & { readonly count: number; readonly phase: Uint32Array; readonly plan: Uint32Array };
  readonly plans: Labels;
}

const books = new WeakMap<Model, { readonly key: string; readonly book: Book }>();

/** Made again when subscriptions or settings changed since. */
export function bookOf(model: Model, settings: SettingsRecord): Book {
  const key = `${model.subscriptionsVersion} ${settings.revision}`;
  let kept = books.get(model);
  if (kept?.key !== key) {
    kept = { key, book: makeBook(model, settings) };
    books.set(model, kept);
  }
  return kept.book;
}

interface Entry {
  readonly time: number;
  readonly who: number;
  readonly mrr: number;
  readonly phase: number;
  readonly plan: number;
}

function makeBook(model: Model, settings: SettingsRecord): Book {
  const money = new Money(settings);
  const [uids, plans] = [new Labels(), new Labels()];
  const steps: Entry[] = [];
  const ofCustomer = new Map<number, { readonly subscription: number; readonly steps: readonly Step[] }[]>();
  let subscription = 0;
  for (const states of model.subscriptions.values()) {
    const own = timelineOf(states, money);
    const customer = uids.add(states.latest?.uid ?? '');
    for (const { time, mrr, phase, plan } of own)
      steps.push({ time, who: subscription, mrr, phase: PHASES.indexOf(phase), plan: plans.add(plan) });
    const others = ofCustomer.get(customer);
    if (others) others.push({ subscription, steps: own });
    else ofCustomer.set(customer, [{ subscription, steps: own }]);
    subscription += 1;
  }
  const sums = [...ofCustomer].flatMap(([customer, own]) => customerChanges(customer, own));
  steps.sort((a, b) => a.time - b.time);
  return {
    money,
    warnings: money.warnings(),
    uids,
    plans,
    customers: { ...columns(sums.sort((a, b) => a.time - b.time)), count: uids.size },
    subscriptions: {
      ...columns(steps),
      phase: Uint32Array.from(steps, ({ phase }) => phase),
      plan: Uint32Array.from(steps, ({ plan }) => plan),
      count: subscription,
    },
  };
}

/** The sum over a customer's subscriptions at every time at which it changes. */
function customerChanges(
  who: number,
  own: readonly { readonly subscription: number; readonly steps: readonly Step[] }[],
) {
  const all = own.flatMap(({ subscription, steps }) => steps.map(({ time, mrr }) => ({ subscription, time, mrr })));
  all.sort((a, b) => a.time - b.time);
  const current = new Map<number, number>();
  const changes: { time: number; who: number; mrr: number }[] = [];
  let sum = 0;
  for (const { subscription, time, mrr } of all) {
    sum += mrr - (current.get(subscription) ?? 0);
    current.set(subscription, mrr);
    const last = changes.at(-1);
    if (last?.time === time) last.mrr = sum;
    else changes.push({ time, who, mrr: sum });
  }
  return changes.filter(({ mrr }, at) => mrr !== (changes[at - 1]?.mrr ?? 0));
}

function columns(entries: readonly Pick<Entry, 'time' | 'who' | 'mrr'>[]): Changes {
  return {
    time: Float64Array.from(entries, ({ time }) => time),
    who: Uint32Array.from(entries, ({ who }) => who),
    mrr: Float64Array.from(entries, ({ mrr }) => mrr),
  };
}

/** How many changes come before the time. */
export function changesBefore({ time }: Pick<Changes, 'time'>, instant: number): number {
  let [low, high] = [0, time.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((time[middle] ?? 0) < instant) low = middle + 1;
    else high = middle;
  }
  return low;
}
