import type { Agent } from '../../../../resources/agent.ts';
import type { AgentRun } from '../../../../resources/agent-run.ts';
import { at, counted, type ListAnswer, number } from '../../app.ts';
import { Avatar, Badge, Link, RecordName, Skeleton, Time } from '../../ui.ts';
import { cost, type UsageAnswer } from '../usage/numbers.ts';
import { useHome, useHomeList } from './use-home.ts';

const MOST_AGENTS = 6;
const ASSISTANT = '';

/** What agents did today and in seven days, and how it ended. Nothing where no agent did anything that this person may see. */
export function AgentsDid() {
  const { rows, total, more, loading, may } = useHomeList<AgentRun>('runs');
  const failed = useHome<ListAnswer<AgentRun>>('failedRuns').data?.total;
  const today = useHome<ListAnswer<AgentRun>>('runsToday').data?.total;
  const failedToday = useHome<ListAnswer<AgentRun>>('failedToday').data?.total;
  const { data: spent } = useHome<UsageAnswer>('spent');
  const agents = useHomeList<Agent>('agents').rows;
  if (!may || (rows.length === 0 && !loading)) return null;
  const costs = new Map(spent?.rows.map((row) => [row.key, row]));
  return (
    <section class="card" aria-labelledby="agents-did">
      <header class="card-head">
        <h2 id="agents-did">What agents did</h2>
        <Link to="/runs">All runs</Link>
      </header>
      {rows.length === 0 && (
        <div class="pad">
          <Skeleton lines={4} />
        </div>
      )}
      {rows.length > 0 && (
        <dl class="did-numbers">
          <Runs title="Today" runs={today} failed={failedToday} />
          <Runs title="Last 7 days" runs={total} failed={failed} />
        </dl>
      )}
      <ul class="happened">
        {byAgent(rows)
          .slice(0, MOST_AGENTS)
          .map(({ agentId, runs, failed, newest }) => (
            <li key={agentId}>
              <a class="happened-row" href={at(runsOf(agentId))}>
                <AgentName
                  agentId={agentId}
                  name={agents.find(({ id }) => id === agentId)?.displayName ?? costs.get(agentId)?.name}
                />
                <Outcome newest={newest} failed={failed} />
                <span class="did-count number">{more ? `${runs}+` : counted(runs, 'run')}</span>
                {spent && (
                  <span class="did-count number" title="In 7 days">
                    {costs.has(agentId) ? cost(costs.get(agentId)?.cost ?? null, spent.currency) : '–'}
                  </span>
                )}
                <span class="happened-time">
                  <Time at={newest.createdAt} />
                </span>
              </a>
            </li>
          ))}
      </ul>
    </section>
  );
}

function runsOf(agentId: string): string {
  return agentId === ASSISTANT ? '/runs' : `/runs?agentId=${encodeURIComponent(agentId)}`;
}

function AgentName({ agentId, name }: { readonly agentId: string; readonly name: string | undefined }) {
  const shown = agentId === ASSISTANT ? 'Assistant' : name;
  return (
    <>
      <Avatar name={shown ?? agentId} size="s" />
      <strong class="did-name">{shown ?? <RecordName id={agentId} />}</strong>
    </>
  );
}

function Outcome({ newest, failed }: { readonly newest: AgentRun; readonly failed: number }) {
  if (newest.status === 'running' || newest.status === 'waiting') return <Badge value={newest.status} />;
  return failed > 0 ? <Badge tone="alarm">{number(failed)} failed</Badge> : <Badge tone="good">All fine</Badge>;
}

type RunsProps = Readonly<{ title: string; runs: number | undefined; failed: number | undefined }>;

function Runs({ title, runs, failed = 0 }: RunsProps) {
  return (
    <div>
      <dt class="headline-title">{title}</dt>
      <dd>
        <span class="did-number">{runs === undefined ? '–' : counted(runs, 'run')}</span>{' '}
        {failed > 0 && <span class="fell">{number(failed)} failed</span>}
      </dd>
    </div>
  );
}

/** The runs of each agent, the one that did something last before the others. */
function byAgent(rows: readonly AgentRun[]) {
  const found = new Map<string, { agentId: string; runs: number; failed: number; newest: AgentRun }>();
  for (const run of rows) {
    const agentId = run.agentId ?? ASSISTANT;
    const one = found.get(agentId) ?? { agentId, runs: 0, failed: 0, newest: run };
    found.set(agentId, one);
    one.runs += 1;
    if (run.status === 'failed') one.failed += 1;
  }
  return [...found.values()];
}
