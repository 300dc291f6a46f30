import { number } from '../../app.ts';
import type { Row } from '../../kind/spec.ts';
import type { Tone } from '../../ui.ts';
import { cost } from '../usage/numbers.ts';

/** As `list_budgets` answers it. */
export interface Budget extends Row {
  readonly id: string;
  readonly subject: { readonly type: string; readonly id: string; readonly name?: string };
  readonly measure: string;
  readonly period: string;
  readonly limit: number;
  readonly used: number;
  readonly warnAt: number;
  readonly enabled: boolean;
  readonly state: string;
  readonly renewsAt: string;
  readonly currency?: string;
}

/** Whose use can be limited. */
export const SUBJECTS = [
  { value: 'agent', label: 'Agent' },
  { value: 'key', label: 'API key' },
  { value: 'capsule', label: 'Capsule' },
  { value: 'app', label: 'App' },
] as const;

export function kindOf({ subject }: Budget): string {
  return SUBJECTS.find(({ value }) => value === subject.type)?.label ?? subject.type;
}

/** `2,000`, or `$9.90` of a cost. */
export function amount({ measure, currency = '' }: Budget, value: number): string {
  return measure === 'cost' ? cost(value, currency) : number(value);
}

/** `40 calls a day`, `$20.00 a month`. */
export function limitWords(budget: Budget): string {
  const { measure, limit, period } = budget;
  const counted = measure === 'cost' ? '' : ` ${limit === 1 ? measure.slice(0, -1) : measure}`;
  return `${amount(budget, limit)}${counted} a ${period}`;
}

export function nameOf(budget: Budget): string {
  return `${limitWords(budget)} for ${budget.subject.name ?? budget.subject.id}`;
}

export type State = Readonly<{ value: string; label: string; tone: Tone }>;

const OFF: State = { value: 'off', label: 'Off', tone: 'plain' };
const OK: State = { value: 'ok', label: 'OK', tone: 'good' };
const WARNED: State = { value: 'warned', label: 'Nearly used up', tone: 'warn' };
const REACHED: State = { value: 'reached', label: 'Used up', tone: 'alarm' };
export const STATES: readonly State[] = [REACHED, WARNED, OK, OFF];

export function stateOf({ enabled, state }: Budget): State {
  return enabled ? (STATES.find(({ value }) => value === state) ?? OK) : OFF;
}
