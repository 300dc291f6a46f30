import type { Budget } from '../../../../resources/budget.ts';
import { number } from '../../app.ts';
import { Badge, type Tone } from '../../ui.ts';
import { cost } from '../usage/numbers.ts';

/** `kind` is a name of `kinds.ts`. The workspace has none. */
export const SUBJECTS: readonly (Choice & { readonly kind?: string })[] = [
  { value: 'agent', label: 'Agent', kind: 'agent' },
  { value: 'person', label: 'Person', kind: 'admin-user' },
  { value: 'key', label: 'API key', kind: 'key' },
  { value: 'capsule', label: 'Capsule', kind: 'capsule' },
  { value: 'app', label: 'App', kind: 'app' },
  { value: 'workspace', label: 'Workspace' },
];

type Choice = Readonly<{ value: Budget['subject']['type']; label: string }>;

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

type State = Readonly<{ value: string; label: string; tone: Tone }>;

const OFF: State = { value: 'off', label: 'Off', tone: 'plain' };
const OK: State = { value: 'ok', label: 'OK', tone: 'good' };
export const STATES: readonly State[] = [
  { value: 'reached', label: 'Used up', tone: 'alarm' },
  { value: 'warned', label: 'Nearly used up', tone: 'warn' },
  OK,
  OFF,
];

export function stateOf({ enabled, state }: Budget): State {
  return enabled ? (STATES.find(({ value }) => value === state) ?? OK) : OFF;
}

export function Used({ budget }: { readonly budget: Budget }) {
  const { used, limit } = budget;
  const { value, label, tone } = stateOf(budget);
  return (
    <span class="used">
      <meter class={`share-bar ${value}`} min={0} max={1} value={Math.min(1, used / limit)} aria-hidden="true" />
      <span class="used-words">
        <span class="number">
          {amount(budget, used)} of {amount(budget, limit)}
        </span>
        {value !== 'ok' && <Badge tone={tone}>{label}</Badge>}
      </span>
    </span>
  );
}
