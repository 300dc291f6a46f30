import type { RowSnapshot } from '../../../store/rows-port.ts';
import { addIntervals } from '../calendar.ts';
import type { Question } from '../question.ts';
import { ratio } from '../request.ts';
import { Money } from '../revenue/money.ts';
import { bridge, meanChurn, monthlyChurn, movementOf } from '../revenue/movements.ts';
import { type Insight, lastInterval, percent, rangeOf } from './finding.ts';

export async function mrrChange(question: Question, rows: RowSnapshot, today: string): Promise<Insight[]> {
  const money = new Money(question.settings);
  const month = lastInterval(question, today, 'month', 1);
  const movement = await movementOf(rows, month);
  const change = ratio(movement.end - movement.start, movement.start);
  if (change === null || Math.abs(change) < 0.1) return [];
  const closed = bridge(movement, money);
  const parts = {
    new: closed.new,
    reactivation: closed.reactivation,
    expansion: closed.expansion,
    contraction: closed.contraction,
    churn: closed.churn,
  };
  const [largest = 'new'] = Object.entries(parts).sort((a, b) => b[1] - a[1])[0] ?? [];
  const args = rangeOf(month, question, 'month');
  return [
    {
      kind: 'change',
      severity: change <= -0.2 ? 'critical' : change < 0 ? 'warning' : 'info',
      title: `MRR ${change > 0 ? 'rose' : 'fell'} by ${percent(change)} in ${month.from.slice(0, 7)}`,
      detail: `From ${closed.start} to ${closed.end} ${money.currency}; the largest movement is ${largest}.`,
      evidence: (['start', 'end'] as const).map((name) => ({
        tool: 'get_mrr',
        arguments: args,
        member: `totals.${name}`,
        value: closed[name],
      })),
    },
  ];
}

export async function highChurn(question: Question, rows: RowSnapshot, today: string): Promise<Insight[]> {
  const month = lastInterval(question, today, 'month', 1);
  const from = addIntervals(month.from, 'month', -6);
  const churns = await monthlyChurn(rows, { from, to: month.to, zone: question.zone });
  const last = churns.get(month.from) ?? null;
  const mean = meanChurn(churns, month.from, 6) ?? 0;
  if (last === null || last <= 0.05 || last <= mean * 1.5) return [];
  return [
    {
      kind: 'churn',
      severity: last > 0.1 ? 'critical' : 'warning',
      title: `${percent(last)} of customers churned in ${month.from.slice(0, 7)}`,
      detail: `The mean of the six months before is ${percent(mean)}.`,
      evidence: [
        {
          tool: 'get_churn',
          arguments: rangeOf(month, question, 'month'),
          member: 'totals.customerChurn',
          value: last,
        },
      ],
    },
  ];
}
