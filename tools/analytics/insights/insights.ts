import { z } from 'zod';
import { dateIn } from '../calendar.ts';
import { metric } from '../request.ts';
import { rewordInsights } from '../wording.ts';
import { type Insight, insight, severity } from './finding.ts';
import { brokenSteps } from './funnel-insights.ts';
import { highChurn, mrrChange } from './revenue-insights.ts';
import { anomalousDay, weeklyChange } from './traffic-insights.ts';

export const getInsights = metric({
  name: 'get_insights',
  title: 'Get insights',
  description:
    'What stands out now: large changes of MRR, visitors and active users, high churn, anomalous days, broken funnel steps; each with the calls that prove it.',
  topic: 'insights',
  interval: 'month',
  whole: 'always',
  definition:
    'Found by rules in the complete periods before asOf, or before the end of the range where that is earlier. Change: MRR of the last complete month by 10 % or more, visitors or active users of the last complete week by 25 % or more against the week before with 20 or more in either. Churn: customer churn of the last complete month above 5 % and above 1.5 times the mean of the six months before. Anomaly: visitors of the last complete day further from the median of the 28 days before than 5 times their median absolute deviation (at least 10 visitors). Broken funnel: a step that no user passed in the last 30 complete days, or fewer than half the share of the 30 days before, where 20 or more came to it.',
  shape: {
    totals: z.object({ insights: z.int().min(0), critical: z.int().min(0), warning: z.int().min(0) }),
    rows: z.array(insight),
  },

  async answer(question, snapshot) {
    const today = dateIn(question.zone, Math.min(question.now, question.end));
    const rows = [
      ...(await mrrChange(question, snapshot, today)),
      ...(await highChurn(question, snapshot, today)),
      ...(await weeklyChange(question, snapshot, today)),
      ...(await anomalousDay(question, snapshot, today)),
      ...(await brokenSteps(question, snapshot, today)),
    ].sort((a, b) => rank(b) - rank(a));
    const having = (wanted: string) => rows.filter((row) => row.severity === wanted).length;
    return { totals: { insights: rows.length, critical: having('critical'), warning: having('warning') }, rows };
  },

  word: async (answer, { store, server }) => ({
    ...answer,
    rows: await rewordInsights(answer.rows, store, server.models),
  }),
});

function rank(row: Insight): number {
  return severity.options.indexOf(row.severity);
}
