import type { BudgetRecord } from '../../resources/budget.ts';
import { ToolError } from '../core/errors.ts';
import { renewalAfter } from './periods.ts';
import { millionthsOf, unitsOf } from './prices.ts';

/** How long a turn of a model has its reservation: longer than it can take. */
export const RESERVED_MS = 15 * 60_000;

/** How long calls under way are waited for, where only what they have reserved is missing. */
const SOON_SECONDS = 5;

/** The limit as it is counted: calls, tokens, or millionths of the currency. */
export function limitOf({ measure, limit }: Pick<BudgetRecord, 'measure' | 'limit'>): number {
  return measure === 'cost' ? millionthsOf(limit) : limit;
}

/** How far a budget is used at a moment: what ended since does not count any more. */
export interface BudgetState extends Pick<BudgetRecord, 'used' | 'renewsAt' | 'reservations' | 'notice'> {}

export function stateAt(budget: BudgetRecord, now: Date, timezone: string): BudgetState {
  const { used, renewsAt, reservations, notice, period } = budget;
  const at = now.toISOString();
  const open = reservations.filter(({ until }) => until > at);
  if (at < renewsAt) return { used, renewsAt, reservations: open, notice };
  return {
    used: 0,
    renewsAt: renewalAfter(now, period, timezone).toISOString(),
    reservations: open,
    notice: undefined,
  };
}

type Level = NonNullable<BudgetRecord['notice']>['level'];

/** Whether there is room for more. `soon`: all that is left is reserved by turns under way, which may use less. */
export function roomIn(budget: BudgetRecord, { used, reservations }: BudgetState): 'yes' | 'soon' | 'no' {
  const limit = limitOf(budget);
  if (used >= limit) return 'no';
  const reserved = reservations.reduce((sum, { amount }) => sum + amount, 0);
  return used + reserved >= limit ? 'soon' : 'yes';
}

export function dueNotice(budget: BudgetRecord, { used, notice }: BudgetState): Level | undefined {
  const limit = limitOf(budget);
  const level: Level | undefined = used >= limit ? 'reached' : used >= limit * budget.warnAt ? 'warned' : undefined;
  return level === undefined || level === notice?.level || notice?.level === 'reached' ? undefined : level;
}

export function showState(budget: BudgetRecord, state: BudgetState) {
  const { used } = state;
  const isReached = used >= limitOf(budget);
  const level = isReached ? 'reached' : used >= limitOf(budget) * budget.warnAt ? 'warned' : 'ok';
  return {
    used: budget.measure === 'cost' ? unitsOf(used) : used,
    renewsAt: state.renewsAt,
    state: level,
  } as const;
}

export function refusal(budget: BudgetRecord, state: BudgetState, now: Date): ToolError {
  const { subject, measure, period, limit, currency } = budget;
  const counted = limit === 1 ? measure.slice(0, -1) : measure;
  const amount = measure === 'cost' ? `a cost of ${limit} ${currency}` : `${limit} ${counted}`;
  const what = `The budget of the ${nameOf(subject)}, ${amount} a ${period},`;
  if (roomIn(budget, state) === 'soon') {
    const message = `${what} is reserved by calls under way; try again in ${SOON_SECONDS} seconds.`;
    return new ToolError('rate_limited', message, { retryAfterSeconds: SOON_SECONDS, notMade: true });
  }
  const left = Math.max(1, Math.ceil((Date.parse(state.renewsAt) - now.getTime()) / 1000));
  const who = subject.type === 'workspace' ? 'a person who may do everything' : 'an admin';
  const message = `${what} is used up. It renews at ${state.renewsAt}; until then ${who} can raise it with update_budget.`;
  return new ToolError('rate_limited', message, { retryAfterSeconds: left });
}

export function nameOf({ type, id }: BudgetRecord['subject']): string {
  return type === 'workspace' ? type : `${NOUNS[type]} ${id}`;
}

const NOUNS = { key: 'API key', capsule: 'capsule', app: 'connected app', agent: 'agent', person: 'person' } as const;
