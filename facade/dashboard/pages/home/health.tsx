import type { z } from 'zod';
import type { systemHealth } from '../../../../resources/health.ts';
import { useMay } from '../../app.ts';
import { Badge, Link, type Tone } from '../../ui.ts';
import { useHome } from './use-home.ts';

type SystemHealth = z.infer<typeof systemHealth>;

const WORDS: Readonly<Record<SystemHealth['overallStatus'], readonly [string, Tone]>> = {
  ok: ['All systems fine', 'good'],
  degraded: ['Something needs attention', 'warn'],
  down: ['The server takes no changes', 'alarm'],
};

const NO_COLLECTOR = 'Traces go to no collector; OTEL_EXPORTER_OTLP_ENDPOINT sets one.';

export function Health() {
  const mayBudget = useMay('list_budgets');
  const { data } = useHome<SystemHealth>('health');
  if (!data) return null;
  const [words, tone] = WORDS[data.overallStatus];
  return (
    <>
      <button type="button" class="health" popovertarget="health-list">
        <Badge tone={tone}>{words}</Badge>
      </button>
      <div
        id="health-list"
        popover="auto"
        class="menu health-list"
        role="dialog"
        aria-label="What the server depends on"
      >
        {data.integrations.map(({ name, kind, status, latencyMs, lastError }) => (
          <div key={name} class="health-row">
            <span>{name}</span>
            <span class="faint number">{Math.round(latencyMs)} ms</span>
            <Badge value={status} />
            {lastError && <p class="hint">{lastError}</p>}
            {kind === 'budgets' && mayBudget && <Link to="/budgets">See the budgets</Link>}
          </div>
        ))}
        {!data.integrations.some(({ kind }) => kind === 'telemetry') && <p class="hint">{NO_COLLECTOR}</p>}
      </div>
    </>
  );
}
