import type { Budget } from '../../../../resources/budget.ts';
import { at, pathOf } from '../../app.ts';
import { Sparkline } from '../../components/growth.tsx';
import { Link } from '../../ui.ts';
import { kindOf, limitWords, stateOf, Used } from '../budgets/words.tsx';
import { cost, NO_PRICE, type UsageAnswer } from '../usage/numbers.ts';
import { useHome, useHomeList } from './use-home.ts';

const MOST_BUDGETS = 4;

/** What models cost, and what is left of the budgets that limit it. Nothing where nothing was used and nothing is limited. */
export function Cost() {
  const { data: week } = useHome<UsageAnswer>('spent');
  const { data: month } = useHome<UsageAnswer>('spentLonger');
  const budgets = useHomeList<Budget>('budgets').rows.filter((budget) => stateOf(budget).value !== 'off');
  const isUsed = month !== undefined && month.totals.inputTokens + month.totals.outputTokens > 0;
  if (!isUsed && budgets.length === 0) return null;
  const fullest = budgets.sort((one, other) => other.used / other.limit - one.used / one.limit);
  return (
    <section class="card" aria-labelledby="cost">
      <header class="card-head">
        <h2 id="cost">What it cost</h2>
        {month ? <Link to="/usage">Usage</Link> : <Link to="/budgets">Budgets</Link>}
      </header>
      {isUsed && (
        <>
          <dl class="did-numbers">
            <Spent title="Today" value={month.series.at(-1)?.cost ?? null} currency={month.currency} />
            <Spent title="7 days" value={week?.totals.cost ?? null} currency={month.currency} />
            <Spent title="30 days" value={month.totals.cost} currency={month.currency} />
          </dl>
          {month.totals.cost !== null && month.totals.cost > 0 && (
            <div class="cost-course">
              <Sparkline values={month.series.map(({ cost }) => cost ?? 0)} />
            </div>
          )}
        </>
      )}
      <ul class="happened">
        {fullest.slice(0, MOST_BUDGETS).map((budget) => (
          <li key={budget.id}>
            <a class="happened-row cost-budget" href={at(pathOf(budget.id) ?? '')}>
              <span>
                <strong>
                  {budget.subject.type === 'workspace' ? 'Workspace' : (budget.subject.name ?? kindOf(budget))}
                </strong>{' '}
                <span class="quiet">{limitWords(budget)}</span>
              </span>
              <Used budget={budget} />
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

type SpentProps = Readonly<{ title: string; value: number | null; currency: string }>;

function Spent({ title, value, currency }: SpentProps) {
  return (
    <div>
      <dt class="headline-title">{title}</dt>
      <dd class={value === null ? '' : 'did-number'}>
        {value === null ? <Link to="/usage?by=model">{NO_PRICE}</Link> : cost(value, currency)}
      </dd>
    </div>
  );
}
