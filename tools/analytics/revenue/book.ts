import type { SettingsRecord } from '../../../resources/settings.ts';
import type { ImportedModel } from '../model/imported-model.ts';
import type { Settling } from '../model/settling.ts';
import { CustomerChanges } from './customer-changes.ts';
import { Money } from './money.ts';
import { SubscriptionSteps } from './subscription-steps.ts';
import { timelineOf } from './subscription-timeline.ts';

const books = new WeakMap<ImportedModel, { readonly revision: number; readonly book: Book }>();

/** Made again when the currency or exchange rates change. Changes of subscriptions are followed. */
export function bookOf(model: ImportedModel, settings: SettingsRecord): Book {
  const kept = books.get(model);
  if (kept?.revision === settings.revision) return kept.book;
  const key = JSON.stringify([settings.currency, settings.exchangeRates]);
  const book = kept?.book.key === key ? kept.book : new Book(model, settings, key);
  books.set(model, { revision: settings.revision, book });
  return book;
}

/** The whole history of recurring revenue, in the workspace currency. */
export class Book implements Settling {
  readonly key: string;
  readonly money: Money;
  readonly customers = new CustomerChanges();
  readonly subscriptions = new SubscriptionSteps();
  readonly #model: ImportedModel;
  #seen = 0;
  /** The customer of each subscription. */
  readonly #customerOf = new Map<string, string>();
  /** Customers whose subscriptions changed. */
  readonly #waiting = new Set<string>();

  constructor(model: ImportedModel, settings: SettingsRecord, key: string) {
    this.#model = model;
    this.money = new Money(settings);
    this.key = key;
  }

  settle(until: number): boolean {
    const { subscriptions } = this.#model.touched;
    for (; this.#seen < subscriptions.length; this.#seen += 1) {
      if (performance.now() >= until) return false;
      this.#read(subscriptions[this.#seen] ?? '');
    }
    for (const uid of this.#waiting) {
      if (performance.now() >= until) return false;
      this.customers.replace(uid, this.#changesOf(uid));
      this.#waiting.delete(uid);
    }
    return this.customers.settle(until) && this.subscriptions.settle(until);
  }

  #read(id: string): void {
    const states = this.#model.subscriptions.get(id);
    const before = this.#customerOf.get(id);
    if (before !== undefined) this.#waiting.add(before);
    this.#customerOf.delete(id);
    this.money.forget({ type: 'subscriptions', id });
    this.subscriptions.replace(id, states ? timelineOf(states, this.money) : []);
    if (!states) return;
    const uid = states.latest?.uid ?? '';
    this.#customerOf.set(id, uid);
    this.#waiting.add(uid);
  }

  /** The sum of a customer's subscriptions at every time when it changes. */
  #changesOf(uid: string) {
    const { owned, subscriptions } = this.#model;
    const all = owned.subscriptions.of(uid).flatMap((id) => {
      const states = subscriptions.get(id);
      return states ? timelineOf(states, this.money).map(({ time, mrr }) => ({ id, time, mrr })) : [];
    });
    all.sort((a, b) => a.time - b.time);
    const current = new Map<string, number>();
    const changes: { time: number; mrr: number }[] = [];
    let sum = 0;
    for (const { id, time, mrr } of all) {
      sum += mrr - (current.get(id) ?? 0);
      current.set(id, mrr);
      const last = changes.at(-1);
      if (last?.time === time) last.mrr = sum;
      else changes.push({ time, mrr: sum });
    }
    return changes.filter(({ mrr }, at) => mrr !== (changes[at - 1]?.mrr ?? 0));
  }
}
