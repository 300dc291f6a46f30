import { useAnswer, useMay } from '../../app.ts';
import { Badge, Link, type Tone } from '../../ui.ts';

interface SystemHealth {
  readonly overallStatus: 'ok' | 'degraded' | 'down';
  readonly integrations: readonly {
    readonly name: string;
    readonly kind: string;
    readonly status: string;
    readonly latencyMs: number;
    readonly lastError?: string;
  }[];
}

const WORDS: Readonly<Record<SystemHealth['overallStatus'], readonly [string, Tone]>> = {
  ok: ['All systems fine', 'good'],
  degraded: ['Something needs attention', 'warn'],
  down: ['The server takes no changes', 'alarm'],
};

const NO_COLLECTOR = 'Traces go to no collector; OTEL_EXPORTER_OTLP_ENDPOINT sets one.';

/** Whether everything that the server depends on works; the whole list behind the badge. */
export function Health() {
  const may = useMay('get_system_health');
  const mayBudget = useMay('list_budgets');
  const { data } = useAnswer<SystemHealth>(may ? 'get_system_health' : undefined);
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
