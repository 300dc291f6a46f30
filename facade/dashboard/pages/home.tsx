import { setQuery, useLocation } from '../app.ts';
import { lazy } from '../lazy.tsx';
import { Segments } from '../ui.ts';
import { useWatching } from '../use-polling.ts';
import { AgentsDid } from './home/agents-did.tsx';
import { Cost } from './home/cost.tsx';
import { spanIn } from './home/first-calls.ts';
import { Headlines, type Overview, useMetric } from './home/headlines.tsx';
import { Health } from './home/health.tsx';
import { SetUp } from './home/set-up.tsx';
import { WaitsForYou } from './home/waits.tsx';
import { Yours } from './home/yours.tsx';

/** What waits for the person, what agents did, what that cost, and the numbers of the business where there are any. */
export function Page() {
  useWatching();
  return (
    <div class="page-body">
      <header class="page-head home-head">
        <h1>Home</h1>
        <span class="page-actions">
          <Health />
        </span>
      </header>
      <WaitsForYou />
      <SetUp />
      <div class="home-columns">
        <div class="home-main">
          <AgentsDid />
          <Business />
        </div>
        <div class="home-main">
          <Cost />
          <Yours />
        </div>
      </div>
    </div>
  );
}

const SPANS = [
  { value: 'days', label: '30 days' },
  { value: 'months', label: '12 months' },
] as const;

/** Drawn when there is something to draw, so that nobody waits for it. */
const RevenueChart = lazy(async () => (await import('./home/revenue.tsx')).RevenueChart);

/** Nothing where nothing was imported. */
function Business() {
  const span = spanIn(useLocation().query);
  const { data: overview } = useMetric<Overview>('get_overview', span);
  if (!overview || overview.totalUsers === 0) return null;
  return (
    <>
      <header class="section-head">
        <h2>The business</h2>
        <Segments label="Range" value={span} options={SPANS} onChange={(value) => setQuery({ span: value })} />
      </header>
      <Headlines span={span} />
      <RevenueChart span={span} />
    </>
  );
}
