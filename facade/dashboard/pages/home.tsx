import { setQuery, usePlace } from '../app.ts';
import { Segments } from '../ui.ts';
import { Checklist } from './home/checklist.tsx';
import { spanIn } from './home/first-calls.ts';
import { Happened } from './home/happened.tsx';
import { Headlines, RevenueChart } from './home/headlines.tsx';
import { Health } from './home/health.tsx';
import { type Overview, useMetric } from './home/numbers.ts';

const SPANS = [
  { value: 'days', label: '30 days' },
  { value: 'months', label: '12 months' },
] as const;

/** What a person wants to know when they come in: is it well, what happened, how is business, what is left to set up. */
export function Page() {
  const span = spanIn(usePlace().query);
  const { data: overview } = useMetric<Overview>('get_overview', span);
  // Where there are no numbers yet, what is left to set up comes first.
  const isNew = overview?.totalUsers === 0;
  return (
    <div class="page-body">
      <header class="page-head home-head">
        <h1>Home</h1>
        <span class="page-actions">
          <Health />
          <Segments label="Range" value={span} options={SPANS} onChange={(value) => setQuery({ span: value })} />
        </span>
      </header>
      <Headlines span={span} />
      <div class="home-columns">
        <div class="home-main">
          {isNew && <Checklist />}
          <RevenueChart span={span} />
          {!isNew && <Checklist />}
        </div>
        <Happened />
      </div>
    </div>
  );
}
