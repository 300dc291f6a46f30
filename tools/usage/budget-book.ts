import type { BudgetRecord, BudgetReservation } from '../../resources/budget.ts';
import { type PeriodicTask, startPeriodicTask } from '../../store/periodic-task.ts';
import type { Store, Transaction } from '../../store/port.ts';
import type { ToolError } from '../core/errors.ts';
import { readSettings } from '../settings/settings.ts';
import { raiseAlert } from '../webhooks/alerts.ts';
import { type BudgetState, dueNotice, limitOf, refusal, roomIn, stateAt } from './budget-state.ts';

export interface Part {
  readonly budgetId: string;
  readonly amount: number;
  /** Counted, whether or not there is room. */
  readonly isForced?: boolean;
}

/** Either all parts are counted or, where one of the budgets has no room, none. */
export type Entry =
  | { readonly kind: 'count'; readonly parts: readonly Part[] }
  /** Room for a turn of a model, whose use is known when it ends. The reservation lapses at `until` where nobody settles it. */
  | ({ readonly kind: 'reserve'; readonly parts: readonly Part[] } & Omit<BudgetReservation, 'amount'>)
  | Settlement
  | OrphanedReservation;

/** What a turn used, in place of its reservation until `until`. May be entered again: it is counted once. */
interface Settlement {
  readonly kind: 'settle';
  readonly id: string;
  readonly until: string;
  readonly parts: readonly Part[];
}

/** A reservation of a dead process. It stays, reserving nothing, so that use is still counted if the process was alive after all. */
interface OrphanedReservation {
  readonly kind: 'left';
  readonly id: string;
  readonly isUsed: boolean;
  readonly parts: readonly Part[];
}

interface Refusal {
  readonly budgetId: string;
  readonly renewsAt: string;
  readonly error: ToolError;
}

interface Waiting {
  readonly entry: Entry;
  resolve(refused: Refusal | undefined): void;
  reject(cause: unknown): void;
}

/** Counts against budgets in the store. Entries that come while others are written are written together. */
export class BudgetBook {
  readonly #store: Store;
  readonly #now: () => Date;
  #waiting: Waiting[] = [];
  #isWriting = false;

  constructor(store: Store, now: () => Date) {
    this.#store = store;
    this.#now = now;
  }

  /** Resolves when the entry is durable, or was refused. @throws StoreUnavailable */
  enter(entry: Entry): Promise<Refusal | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ entry, resolve, reject });
      if (!this.#isWriting) void this.#write();
    });
  }

  async #write(): Promise<void> {
    this.#isWriting = true;
    while (this.#waiting.length > 0) {
      const together = this.#waiting;
      this.#waiting = [];
      try {
        const now = this.#now();
        const entries = together.map(({ entry }) => entry);
        const refusals = await this.#store.transaction((tx) => enterAll(tx, entries, now));
        for (const [at, { resolve }] of together.entries()) resolve(refusals[at]);
      } catch (cause) {
        for (const { reject } of together) reject(cause);
      }
    }
    this.#isWriting = false;
  }
}

interface Open {
  readonly budget: BudgetRecord;
  readonly before: BudgetState;
  state: BudgetState;
}

/** Changes nothing but the transaction, because a store may run it again. */
async function enterAll(tx: Transaction, entries: readonly Entry[], now: Date): Promise<(Refusal | undefined)[]> {
  const { timezone } = await readSettings(tx);
  const open = new Map<string, Open>();
  for (const { budgetId } of entries.flatMap(({ parts }) => parts)) {
    const budget = open.has(budgetId) ? undefined : await tx.budgets.get(budgetId);
    if (!budget?.enabled) continue;
    const before = stateAt(budget, now, timezone);
    open.set(budgetId, { budget, before, state: before });
  }
  const refusals = entries.map((entry) => enterOne(open, entry, now));
  for (const each of open.values()) await keep(tx, each, now);
  return refusals;
}

function enterOne(open: ReadonlyMap<string, Open>, entry: Entry, now: Date): Refusal | undefined {
  const parts = entry.parts.flatMap(({ budgetId, amount, isForced = false }) => {
    const found = open.get(budgetId); // a budget may have been deleted or switched off
    return found ? [{ found, amount, isForced }] : [];
  });
  const over = parts.find(({ found, amount, isForced }) => !isForced && !fits(found, entry.kind, amount))?.found;
  if (over) {
    const { budget, state } = over;
    return { budgetId: budget.id, renewsAt: state.renewsAt, error: refusal(budget, state, now) };
  }
  for (const { found, amount } of parts) found.state = entered(found, entry, { amount, now });
  return undefined;
}

function entered({ budget, state }: Open, entry: Entry, { amount, now }: Entering): BudgetState {
  const { used, reservations } = state;
  if (entry.kind === 'count') return { ...state, used: used + amount };
  if (entry.kind === 'reserve') {
    const { id, until, worker, run } = entry;
    return { ...state, reservations: [...reservations, { id, amount, until, worker, run }] };
  }
  const others = reservations.filter(({ id }) => id !== entry.id);
  if (entry.kind === 'settle') {
    return isSettled(state, entry, now) ? state : { ...state, used: used + amount, reservations: others };
  }
  // Includes an expired one, which the state leaves out.
  const held = budget.reservations.find(({ id }) => id === entry.id);
  if (!held) return state;
  if (entry.isUsed) return { ...state, used: used + amount, reservations: others };
  return { ...state, reservations: [...others, { ...held, amount: 0 }] };
}

interface Entering {
  readonly amount: number;
  readonly now: Date;
}

/** Its reservation is gone early, so it was counted before and its caller did not get the answer. */
function isSettled({ reservations }: BudgetState, { id, until }: Settlement, now: Date): boolean {
  return now.toISOString() < until && !reservations.some((reservation) => reservation.id === id);
}

/** What was used is counted in any case. */
function fits({ budget, state }: Open, kind: Entry['kind'], amount: number): boolean {
  if (kind === 'count') return state.used + amount <= limitOf(budget);
  return kind !== 'reserve' || roomIn(budget, state) === 'yes';
}

/** Counting is not a change of the record; a notice is one, so that others hear of it. */
async function keep(tx: Transaction, { budget, before, state }: Open, now: Date): Promise<void> {
  if (state === before) return;
  const { used, renewsAt, reservations } = state;
  const level = dueNotice(budget, state);
  const kept = { used, renewsAt, reservations: [...reservations], notice: state.notice ?? null };
  if (level === undefined) return void (await tx.budgets.touch(budget.id, kept));
  const notice = { level, at: now.toISOString(), revision: budget.revision + 1 };
  const { id, revision } = await tx.budgets.update(budget.id, { ...kept, notice });
  await raiseAlert(tx, { type: `budget.${level}`, id, revision }, now);
}

const AGAIN_MS = 2000;

/** Counts ended turns of models. What the store refuses is counted as soon as it can be; until then its reservation counts. */
export class Settlements {
  readonly #book: BudgetBook;
  readonly #onFailure: (cause: unknown) => void;
  readonly #owed = new Set<Settlement>();
  #repeated: PeriodicTask | undefined;

  constructor(book: BudgetBook, onFailure: (cause: unknown) => void) {
    this.#book = book;
    this.#onFailure = onFailure;
  }

  async settle(settlement: Settlement): Promise<void> {
    try {
      await this.#book.enter(settlement);
    } catch (cause) {
      this.#onFailure(cause);
      this.#owed.add(settlement);
      this.#repeated ??= startPeriodicTask(() => this.#pay(), this.#onFailure, AGAIN_MS);
    }
  }

  async close(): Promise<void> {
    await this.#repeated?.close();
    await this.#pay().catch(this.#onFailure);
  }

  async #pay(): Promise<void> {
    for (const settlement of [...this.#owed]) {
      await this.#book.enter(settlement);
      this.#owed.delete(settlement);
    }
  }
}
