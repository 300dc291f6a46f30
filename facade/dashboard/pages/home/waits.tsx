import type { ComponentChildren } from 'preact';
import type { AgentRun } from '../../../../resources/agent-run.ts';
import type { ApiKey } from '../../../../resources/api-key.ts';
import type { Approval } from '../../../../resources/approval.ts';
import type { Budget } from '../../../../resources/budget.ts';
import type { Capsule } from '../../../../resources/capsule.ts';
import type { Connection } from '../../../../resources/connection.ts';
import { DAY_MS } from '../../../../resources/durations.ts';
import type { FlowRun } from '../../../../resources/flow-run.ts';
import type { IntegrationSummary } from '../../../../resources/integration.ts';
import type { Webhook } from '../../../../resources/webhook.ts';
import { at, counted, useTool } from '../../app.ts';
import { type CountedList, useDecidable } from '../../components/waiting-approvals.tsx';
import { Icon, type IconName, Link, RecordName, Time } from '../../ui.ts';
import { amount, kindOf, stateOf } from '../budgets/words.tsx';
import { RECENT } from './first-calls.ts';
import { useHomeList } from './use-home.ts';

/** One thing that calls for somebody: what it is about, what is the matter, and where it is seen to. */
interface Waiting {
  readonly id: string;
  readonly icon: IconName;
  /** Something does not work, or nobody goes on before it is seen to. */
  readonly urgent?: boolean;
  readonly who: ComponentChildren;
  readonly what: ComponentChildren;
  readonly time?: string | undefined;
  readonly to: string;
}

const FOLDED = 8;

/** What somebody has to do, whatever it is: calls to decide, what failed, what is nearly used up, what ends soon. Nothing if there is nothing. */
export function WaitsForYou() {
  const decidable = useDecidable();
  const all = useWaiting(decidable);
  const count = all.length + Math.max(0, decidable.count - decidable.waiting.length);
  if (count === 0) return null;
  const [first, rest] = [all.slice(0, FOLDED), all.slice(FOLDED)];
  return (
    <section class="card" aria-labelledby="waits">
      <header class="card-head">
        <h2 id="waits">
          Needs your attention <span class="card-count">{count}</span>
        </h2>
        {decidable.count > 0 && <Link to="/approvals?status=waiting">Approvals</Link>}
      </header>
      <Rows all={first} />
      {rest.length > 0 && (
        <details class="waits-more">
          <summary>{counted(rest.length, 'more thing')}</summary>
          <Rows all={rest} />
        </details>
      )}
    </section>
  );
}

function Rows({ all }: { readonly all: readonly Waiting[] }) {
  return (
    <ul class="happened">
      {all.map(({ id, icon, urgent, who, what, time, to }) => (
        <li key={id}>
          <a class="happened-row" href={at(to)}>
            <span class={urgent ? 'waits-icon urgent' : 'waits-icon'}>
              <Icon name={icon} />
            </span>
            <span class="happened-words">
              <strong>{who}</strong> {what}
            </span>
            <span class="happened-time">{time !== undefined && <Time at={time} />}</span>
          </a>
        </li>
      ))}
    </ul>
  );
}

function useWaiting({ waiting, stuck }: CountedList): readonly Waiting[] {
  const runs = useHomeList<AgentRun>('failedRuns').rows.filter(isRecent);
  const flowRuns = useHomeList<FlowRun>('failedFlows').rows.filter(isRecent);
  const webhooks = useHomeList<Webhook>('webhooks').rows;
  const budgets = useHomeList<Budget>('budgets').rows;
  const keys = useHomeList<ApiKey>('keys').rows;
  const capsules = useHomeList<Capsule>('capsules').rows;
  const integrations = useHomeList<IntegrationSummary>('integrations').rows;
  const connections = useHomeList<Connection>('connections').rows;
  return [
    ...waiting.map((approval) => asked(approval, stuck)),
    ...byOwner(runs, ({ agentId }) => agentId ?? '').map(failedRuns),
    ...byOwner(flowRuns, ({ flowId }) => flowId).map(failedFlow),
    ...webhooks.flatMap(failingWebhook),
    ...integrations.flatMap(failingIntegration),
    ...connections.flatMap(failingConnection),
    ...budgets.flatMap(nearlyUsed),
    ...keys.flatMap((key) => ending(key, 'key')),
    ...capsules.flatMap((capsule) => ending(capsule, 'capsule')),
  ];
}

function asked(approval: Approval, stuck: boolean): Waiting {
  const { id, tool, by, createdAt } = approval;
  const what = (
    <>
      asks: <ToolTitle tool={tool} />
      {stuck && ', which nobody can decide'}
    </>
  );
  return { id, icon: 'shield', urgent: true, who: by.name, what, time: createdAt, to: `/approvals/${id}` };
}

function ToolTitle({ tool }: { readonly tool: string }) {
  return useTool(tool)?.title ?? tool;
}

function isRecent({ createdAt }: { readonly createdAt: string }): boolean {
  return createdAt >= RECENT;
}

/** The newest record of each owner with how many there are, as one that fails often is one thing to see to. */
function byOwner<Row extends { readonly createdAt: string }>(rows: readonly Row[], owner: (row: Row) => string) {
  const found = new Map<string, { readonly newest: Row; count: number }>();
  for (const row of rows) {
    const known = found.get(owner(row));
    if (known) known.count += 1;
    else found.set(owner(row), { newest: row, count: 1 });
  }
  return [...found.values()];
}

function failedRuns({ newest, count }: { readonly newest: AgentRun; readonly count: number }): Waiting {
  const { id, agentId, createdAt, error } = newest;
  const one = `/runs/${encodeURIComponent(id)}`;
  return {
    id,
    icon: 'agent',
    urgent: true,
    who: agentId === undefined ? 'The assistant' : <RecordName id={agentId} />,
    what: count === 1 ? `failed: ${error?.message ?? ''}` : `failed ${count} times, last: ${error?.message ?? ''}`,
    time: createdAt,
    to: `${one}?status=failed${agentId === undefined ? '' : `&agentId=${encodeURIComponent(agentId)}`}`,
  };
}

function failedFlow({ newest, count }: { readonly newest: FlowRun; readonly count: number }): Waiting {
  const { id, flowId, createdAt, error } = newest;
  return {
    id,
    icon: 'flow',
    urgent: true,
    who: <RecordName id={flowId} />,
    what: `failed${count === 1 ? '' : ` ${count} times, last`}: ${error?.message ?? ''}`,
    time: createdAt,
    to: `/flows/${encodeURIComponent(flowId)}?tab=runs`,
  };
}

function failingWebhook({ id, name, state, stopped, lastError, failingSince }: Webhook): readonly Waiting[] {
  if (state !== 'failing' && state !== 'stopped') return [];
  const why = stopped ?? lastError ?? '';
  const what = state === 'stopped' ? `was switched off: ${why}` : `cannot be delivered: ${why}`;
  return [{ id, icon: 'send', urgent: true, who: name, what, time: failingSince, to: `/webhooks/${id}` }];
}

function failingIntegration({ id, name, status, heldCount }: IntegrationSummary): readonly Waiting[] {
  const { state, lastError, since } = status;
  const to = `/integrations/${id}`;
  const failing = { id, icon: 'plug', urgent: true, who: name, time: since, to } as const;
  if (state === 'unavailable') return [{ ...failing, what: `cannot be reached: ${lastError ?? ''}` }];
  if (state === 'wants_oauth') return [{ ...failing, what: 'asks for an account: connect it' }];
  if (heldCount === 0) return [];
  return [{ id, icon: 'plug', who: name, what: `has ${counted(heldCount, 'tool')} that wait to be accepted`, to }];
}

function failingConnection({ id, name, displayName, enabled, lastFailure }: Connection): readonly Waiting[] {
  if (!enabled || !lastFailure) return [];
  const what = `failed: ${lastFailure.message}`;
  return [
    { id, icon: 'link', urgent: true, who: displayName ?? name, what, time: lastFailure.at, to: `/connections/${id}` },
  ];
}

function nearlyUsed(budget: Budget): readonly Waiting[] {
  const { id, subject, used, limit, measure, period } = budget;
  const state = stateOf(budget).value;
  if (state !== 'warned' && state !== 'reached') return [];
  const whose = subject.type === 'workspace' ? 'The workspace' : (subject.name ?? kindOf(budget));
  const unit = measure === 'cost' ? '' : ` ${measure}`;
  const what = `has used ${amount(budget, used)} of ${amount(budget, limit)}${unit} ${period === 'day' ? 'today' : 'this month'}`;
  return [{ id, icon: 'gauge', urgent: state === 'reached', who: whose, what, to: `/budgets/${id}` }];
}

const SOON_MS = 14 * DAY_MS;

function ending(
  { id, name, expiresAt }: Readonly<{ id: string; name: string; expiresAt?: string | undefined }>,
  kind: 'key' | 'capsule',
): readonly Waiting[] {
  const left = expiresAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(expiresAt) - Date.now();
  if (left > SOON_MS) return [];
  const what = left > 0 ? `(${kind}) expires soon` : `(${kind}) has expired`;
  return [
    {
      id,
      icon: kind,
      urgent: left <= 0,
      who: name,
      what,
      time: expiresAt,
      to: kind === 'key' ? `/keys/${id}` : `/capsules/${id}`,
    },
  ];
}
