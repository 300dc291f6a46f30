import { counted, percent } from '../../app.ts';
import type { Row } from '../../kind/spec.ts';
import { NamedValue, Time } from '../../ui.ts';
import { useRenewed } from '../../use-renewed.ts';
import { amount, type Budget, kindOf, limitWords, stateOf } from './budget.ts';
import { Renewal, Subject, Used } from './used.tsx';

/** How far a budget is used, what that means for its holder, and until when. */
export function Standing({ row }: { readonly row: Row }) {
  const budget = row as Budget; // of this kind, as the list answers it
  useRenewed(true);
  const { subject, warnAt, renewsAt } = budget;
  return (
    <section class="overview standing" aria-label="Use">
      <Used budget={budget} />
      <Meaning budget={budget} />
      <dl class="fields">
        <NamedValue name={kindOf(budget)}>
          <Subject {...subject} />
        </NamedValue>
        <NamedValue name="Limit">{limitWords(budget)}</NamedValue>
        <NamedValue name="Renews">
          <Renewal at={renewsAt} />{' '}
          <span class="faint">
            <Time at={renewsAt} />
          </span>
        </NamedValue>
        <NamedValue name="Warns at">
          {percent(warnAt, 0)} <span class="faint">of it, {warnedFrom(budget)}</span>
        </NamedValue>
      </dl>
    </section>
  );
}

function Meaning({ budget }: { readonly budget: Budget }) {
  const { value } = stateOf(budget);
  const { renewsAt, measure } = budget;
  const refused = measure === 'calls' ? 'Calls' : 'Answers of models';
  if (value === 'off') return <p class="note">It is switched off: it neither counts nor refuses.</p>;
  if (value === 'reached') {
    return (
      <p class="note warn">
        {refused} are refused until <Renewal at={renewsAt} />, unless the limit is raised.
      </p>
    );
  }
  return value === 'warned' ? <p class="note">{leftWords(budget)} left until it renews.</p> : null;
}

function leftWords(budget: Budget): string {
  return inWords(budget, budget.limit - budget.used);
}

function warnedFrom(budget: Budget): string {
  const part = budget.warnAt * budget.limit;
  return inWords(budget, budget.measure === 'cost' ? part : Math.ceil(part));
}

function inWords(budget: Budget, value: number): string {
  return budget.measure === 'cost' ? amount(budget, value) : counted(value, budget.measure.slice(0, -1));
}
