import type { RowSnapshot } from '../../../store/rows-port.ts';
import { addDays, startOf } from '../calendar.ts';
import { passages } from '../product/onboarding-funnel.ts';
import type { Question } from '../question.ts';
import { ratio } from '../request.ts';
import { type Insight, percent } from './finding.ts';

export async function brokenSteps(question: Question, rows: RowSnapshot, today: string): Promise<Insight[]> {
  const steps = question.settings.analytics.funnel;
  const passed = async (from: string, to: string) => {
    const { zone: timezone } = question;
    const range = { start: startOf(from, timezone), end: startOf(to, timezone) };
    const users = (await passages(rows, steps, range)).map((step) => step.users);
    return { users, range: { from, to, timezone } };
  };
  const now = await passed(addDays(today, -30), today);
  const before = await passed(addDays(today, -60), addDays(today, -30));
  return steps.flatMap((event, at): Insight[] => {
    const came = now.users[at - 1] ?? 0;
    const share = ratio(now.users[at] ?? 0, came);
    const earlier = ratio(before.users[at] ?? 0, before.users[at - 1] ?? 0);
    if (at === 0 || share === null || came < 20) return [];
    if (share > 0 && (earlier === null || share >= earlier / 2)) return [];
    const member = `rows[${at}].conversionFromPrevious`;
    const evidence = [{ tool: 'get_onboarding_funnel', arguments: now.range, member, value: share }];
    if (earlier !== null)
      evidence.push({ ...evidence[0], arguments: before.range, value: earlier } as (typeof evidence)[0]);
    return [
      {
        kind: 'broken_funnel',
        severity: share === 0 ? 'critical' : 'warning',
        title: `Step ${at + 1} of the funnel (${JSON.stringify(event)}) ${share === 0 ? 'is passed by nobody' : 'lost half its users or more'}`,
        detail: `${percent(share)} of ${came} users passed it in the last 30 days; ${earlier === null ? 'nobody came to it' : percent(earlier)} in the 30 days before.`,
        evidence,
      },
    ];
  });
}
