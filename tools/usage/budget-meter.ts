import { randomUUID } from 'node:crypto';
import type { TokenUsage } from '../../resources/agent-run.ts';
import type { BudgetMeasure, BudgetRecord } from '../../resources/budget.ts';
import { type PeriodicTask, startLeaderTask } from '../../store/periodic-task.ts';
import type { Store } from '../../store/port.ts';
import {
  type Budgets,
  isNeverRefused,
  limitsOn,
  type ModelUse,
  subjectKey,
  WORKSPACE,
} from '../core/access/budgets.ts';
import type { Principal } from '../core/access/principal.ts';
import { ToolError } from '../core/errors.ts';
import { NO_TOKENS } from '../core/models/token-usage.ts';
import { EnabledRecords } from '../core/registry/enabled-records.ts';
import { readSettings } from '../settings/settings.ts';
import { BudgetBook, type Entry, type Part, Settlements } from './budget-book.ts';
import { RESERVED_MS, refusal, roomIn, stateAt } from './budget-state.ts';
import { settleOrphaned } from './orphaned-reservations.ts';
import { amountOf, highestOf, priceOn, readPricing, type TokenPrice } from './prices.ts';

const LOOK_EVERY_MS = 5_000;

interface MeterDeps {
  readonly store: Store;
  now(): Date;
  onFailure(cause: unknown): void;
}

export async function startBudgets(parts: MeterDeps): Promise<BudgetMeter> {
  const meter = new BudgetMeter(parts);
  await meter.start();
  return meter;
}

/** Holds calls and turns of models against the budgets. It follows the budgets, so that a call that none limits asks the store nothing. */
export class BudgetMeter implements Budgets {
  readonly #store: Store;
  readonly #now: () => Date;
  readonly #book: BudgetBook;
  readonly #settlements: Settlements;
  readonly #onFailure: (cause: unknown) => void;
  #looking: PeriodicTask | undefined;
  readonly #following: EnabledRecords<'budgets'>;
  readonly #budgets = new Map<string, BudgetRecord>();
  #bySubject = new Map<string, BudgetRecord[]>();
  /** Until when budgets of calls are used up, so that nothing is written for calls that are refused. */
  readonly #spent = new Map<string, { readonly until: string; readonly error: (now: Date) => ToolError }>();

  constructor({ store, now, onFailure }: MeterDeps) {
    this.#store = store;
    this.#now = now;
    this.#book = new BudgetBook(store, now);
    this.#settlements = new Settlements(this.#book, onFailure);
    this.#onFailure = onFailure;
    this.#following = new EnabledRecords({
      store,
      name: 'budgets',
      put: (budget) => {
        this.#budgets.set(budget.id, budget);
        this.#spent.delete(budget.id);
      },
      drop: (id) => {
        this.#budgets.delete(id);
        this.#spent.delete(id);
      },
      settled: () => this.#sort(),
      onFailure,
    });
  }

  /** Before a turn is taken here: a store that one process has for itself cannot tell whose a reservation is. */
  async start(): Promise<void> {
    const { jobs } = this.#store;
    await this.#following.start();
    const settle = () => settleOrphaned({ store: this.#store, book: this.#book, now: this.#now });
    await settle();
    if (jobs.worker === undefined) return;
    this.#looking = startLeaderTask(jobs, settle, {
      onFailure: this.#onFailure,
      everyMs: LOOK_EVERY_MS,
    });
  }

  async close(): Promise<void> {
    this.#following.close();
    await this.#looking?.close();
    await this.#settlements.close();
  }

  call(principal: Principal): Promise<void> | undefined {
    // Anybody can make those of nobody; the limits of signing in bound them.
    if (this.#bySubject.size === 0 || principal.type === 'anonymous') return undefined;
    const limiting = this.#limiting(limitsOn(principal), ['calls']);
    return limiting.length === 0 ? undefined : this.#count(limiting, isNeverRefused(principal));
  }

  async turn<Turn extends { readonly usage: TokenUsage }>(use: ModelUse, take: () => Promise<Turn>): Promise<Turn> {
    const limiting = this.#ofModels(use);
    if (limiting.length === 0) return take();
    const { amounts, atMost } = await this.#amounts(limiting, use.model);
    const id = randomUUID();
    const until = new Date(this.#now().getTime() + RESERVED_MS).toISOString();
    const { worker } = this.#store.jobs;
    let used = NO_TOKENS;
    try {
      await this.#enter({ kind: 'reserve', id, until, worker, run: use.run, parts: atMost(use.estimate()) });
    } catch (cause) {
      // It may be there all the same, where only the answer of the store was lost.
      if (!(cause instanceof ToolError))
        void this.#settlements.settle({ kind: 'settle', id, until, parts: amounts(used) });
      throw cause;
    }
    try {
      const turn = await take();
      used = turn.usage;
      return turn;
    } finally {
      await this.#settlements.settle({ kind: 'settle', id, until, parts: amounts(used) });
    }
  }

  async requireRoom(use: Omit<ModelUse, 'estimate' | 'run'>): Promise<void> {
    const limiting = this.#ofModels(use);
    if (limiting.length === 0) return;
    await this.#amounts(limiting, use.model);
    const { timezone } = await readSettings(this.#store);
    const now = this.#now();
    for (const { id } of limiting) {
      const budget = await this.#store.budgets.get(id);
      const state = budget && stateAt(budget, now, timezone);
      if (budget?.enabled && state && roomIn(budget, state) !== 'yes') throw refusal(budget, state, now);
    }
  }

  #sort(): void {
    this.#bySubject = new Map();
    for (const budget of this.#budgets.values()) {
      const key = subjectKey(budget.subject);
      this.#bySubject.set(key, [...(this.#bySubject.get(key) ?? []), budget]);
    }
  }

  #limiting(subjects: readonly string[], measures: readonly BudgetMeasure[]): BudgetRecord[] {
    const found = [...new Set(subjects)].flatMap((key) => this.#bySubject.get(key) ?? []);
    return found.filter(({ measure }) => measures.includes(measure));
  }

  /** A run counts for its agent too. */
  #ofModels({ principal, agentId }: Pick<ModelUse, 'principal' | 'agentId'>): BudgetRecord[] {
    if (this.#bySubject.size === 0) return [];
    const own = agentId === undefined ? [] : [subjectKey({ type: 'agent', id: agentId })];
    return this.#limiting([...own, ...limitsOn(principal)], ['tokens', 'cost']);
  }

  async #count(limiting: readonly BudgetRecord[], isAboveWorkspace: boolean): Promise<void> {
    const now = this.#now();
    const parts = limiting.map(({ id, subjectKey }): Part => {
      return { budgetId: id, amount: 1, isForced: isAboveWorkspace && subjectKey === WORKSPACE };
    });
    for (const { budgetId, isForced } of parts) {
      const spent = isForced ? undefined : this.#spent.get(budgetId);
      if (spent && now.toISOString() < spent.until) throw spent.error(now);
    }
    await this.#enter({ kind: 'count', parts });
  }

  async #enter(entry: Entry): Promise<void> {
    const refused = await this.#book.enter(entry);
    if (!refused) return;
    const { budgetId, renewsAt, error } = refused;
    if (entry.kind === 'count')
      this.#spent.set(budgetId, { until: renewsAt, error: (now) => again(error, renewsAt, now) });
    throw error;
  }

  /** What tokens are in the measure of each budget, and what they are at most. @throws ToolError (conflict) if a cost is limited and not known */
  async #amounts(limiting: readonly BudgetRecord[], model: string) {
    const pricing = await readPricing(this.#store);
    const price = priceOn(pricing, model, this.#now().toISOString().slice(0, 10));
    const unknown = limiting.find(
      ({ measure, currency }) => measure === 'cost' && (!price || currency !== pricing.currency),
    );
    if (unknown) throw unpriced(unknown, model, pricing.currency);
    const by = (given: TokenPrice | undefined) => (tokens: TokenUsage) =>
      limiting.map(({ id, measure }): Part => ({ budgetId: id, amount: amountOf(measure, given, tokens) ?? 0 }));
    return { amounts: by(price), atMost: by(price && highestOf(price)) };
  }
}

function again({ message }: ToolError, renewsAt: string, now: Date): ToolError {
  const retryAfterSeconds = Math.max(1, Math.ceil((Date.parse(renewsAt) - now.getTime()) / 1000));
  return new ToolError('rate_limited', message, { retryAfterSeconds });
}

function unpriced({ id, currency }: BudgetRecord, model: string, own: string): ToolError {
  const message =
    currency === own
      ? `The budget ${id} limits cost, and the model ${model} has no price today; an admin gives it one with update_settings {prices}.`
      : `The budget ${id} limits cost in ${currency}, and the workspace now counts in ${own}; an admin gives it a new limit with update_budget.`;
  return new ToolError('conflict', message);
}
