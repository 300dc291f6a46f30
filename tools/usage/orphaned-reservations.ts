import type { BudgetRecord, BudgetReservation } from '../../resources/budget.ts';
import type { Store } from '../../store/port.ts';
import { allOf } from '../core/registry/paging.ts';
import { readSettings } from '../settings/settings.ts';
import type { BudgetBook } from './budget-book.ts';
import { RESERVED_MS } from './budget-state.ts';
import { amountOf, priceOn } from './prices.ts';

interface OrphanedReservationsDeps {
  readonly store: Store;
  readonly book: BudgetBook;
  now(): Date;
}

/**
 * Settles the reservations of dead processes. A finished turn is in its run with its use, which is counted. Other turns are unknown, and
 * their reservations are freed.
 */
export class OrphanedReservations {
  readonly #store: Store;
  readonly #book: BudgetBook;
  readonly #now: () => Date;

  constructor({ store, book, now }: OrphanedReservationsDeps) {
    this.#store = store;
    this.#book = book;
    this.#now = now;
  }

  /** May be done in several processes at once. */
  async settle(): Promise<void> {
    const alive = new Map<string | undefined, boolean>();
    for (const budget of await allOf(this.#store.budgets, { where: { enabled: true } })) {
      for (const reservation of budget.reservations) {
        const { worker } = reservation;
        const isAlive = alive.get(worker) ?? (await this.#isAlive(worker));
        alive.set(worker, isAlive);
        if (!isAlive) await this.#settleOne(budget, reservation);
      }
    }
  }

  /** A process of an older version, which may run beside this one, does not name itself. */
  async #isAlive(worker: string | undefined): Promise<boolean> {
    const { jobs } = this.#store;
    return worker === undefined ? jobs.worker !== undefined : jobs.isAlive(worker);
  }

  async #settleOne(budget: BudgetRecord, reservation: BudgetReservation): Promise<void> {
    const { id, amount, until } = reservation;
    const at = this.#now().toISOString();
    if (at >= budget.renewsAt) return; // the period in which it was used is over
    const used = await this.#usedBy(budget, reservation);
    if (used === undefined && (amount === 0 || at >= until)) return; // it is free
    const parts = [{ budgetId: budget.id, amount: used ?? 0 }];
    await this.#book.enter({ kind: 'left', id, isUsed: used !== undefined, parts });
  }

  /** What its turn used, where that is known; where the price is not known any more, what was reserved. */
  async #usedBy({ measure, currency }: BudgetRecord, { run, until, amount }: BudgetReservation) {
    const found = run && (await this.#store.agentRuns.get(run.id));
    const turn = run && found?.turns?.[run.turn];
    if (!turn) return undefined;
    const settings = await readSettings(this.#store);
    const day = new Date(Date.parse(until) - RESERVED_MS).toISOString().slice(0, 10);
    const price = currency === settings.currency ? priceOn(settings, turn.model, day) : undefined;
    return amountOf(measure, price, turn.usage) ?? amount;
  }
}
