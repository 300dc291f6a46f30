import type { BudgetRecord, BudgetReservation } from '../../resources/budget.ts';
import type { Store } from '../../store/port.ts';
import { allOf } from '../core/registry/paging.ts';
import type { BudgetBook } from './budget-book.ts';
import { RESERVED_MS } from './budget-state.ts';
import { amountOf, priceOn, readPricing } from './prices.ts';

interface OrphanedReservationsDeps {
  readonly store: Store;
  readonly book: BudgetBook;
  now(): Date;
}

/**
 * Settles reservations of dead processes: by the use that their run holds of a finished turn, else by freeing them. Several processes may do
 * it at once.
 */
export async function settleOrphaned({ store, book, now }: OrphanedReservationsDeps): Promise<void> {
  const alive = new Map<string | undefined, boolean>();
  for (const budget of await allOf(store.budgets, { where: { enabled: true } })) {
    for (const reservation of budget.reservations) {
      const { worker, id, amount, until } = reservation;
      const isAlive = alive.get(worker) ?? (await isRunning(store, worker));
      alive.set(worker, isAlive);
      const at = now().toISOString();
      if (isAlive || at >= budget.renewsAt) continue; // the period in which it was used may be over
      const used = await usedBy(store, budget, reservation);
      if (used === undefined && (amount === 0 || at >= until)) continue; // it is free
      const parts = [{ budgetId: budget.id, amount: used ?? 0 }];
      await book.enter({ kind: 'left', id, isUsed: used !== undefined, parts });
    }
  }
}

/** A process of an older version, which may run beside this one, does not name itself. */
async function isRunning({ jobs }: Store, worker: string | undefined): Promise<boolean> {
  return worker === undefined ? jobs.worker !== undefined : jobs.isAlive(worker);
}

/** What its turn used, where that is known; where the price is not known any more, what was reserved. */
async function usedBy(store: Store, { measure, currency }: BudgetRecord, { run, until, amount }: BudgetReservation) {
  const found = run && (await store.agentRuns.get(run.id));
  const turn = run && found?.turns?.[run.turn];
  if (!turn) return undefined;
  const pricing = await readPricing(store);
  const day = new Date(Date.parse(until) - RESERVED_MS).toISOString().slice(0, 10);
  const price = currency === pricing.currency ? priceOn(pricing, turn.model, day) : undefined;
  return amountOf(measure, price, turn.usage) ?? amount;
}
