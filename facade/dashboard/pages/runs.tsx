import type { TokenUsage } from '../../../resources/agent-run.ts';
import { CALLERS, duration, useAnswer, useLocation, useMay, useTool, wordOf } from '../app.ts';
import { FilterBar, FilterChoice, FilterRecord } from '../components/filters.tsx';
import { optionsOf } from '../components/form/select.tsx';
import { UndoButton } from '../components/undo.tsx';
import {
  Badge,
  Callers,
  CancelRun,
  DetailBar,
  ErrorBox,
  Facts,
  Link,
  LinkButton,
  Mono,
  PageHead,
  Ref,
  Skeleton,
  Time,
} from '../ui.ts';
import { usePolling, useWatching } from '../use-polling.ts';
import { WaitingCalls } from './chat/waiting.tsx';
import { RunInput } from './runs/given.tsx';
import { RunList } from './runs/run-list.tsx';
import type { ShownRun } from './runs/spans.ts';
import { Trace } from './runs/trace.tsx';
import { cost, tokensInWords, tokensTitle, useCurrency } from './usage/numbers.ts';

/** Runs that go on are asked for more often, see `RunList`. */
const NEW_RUNS_MS = 15_000;

export function Page() {
  const { query, parts } = useLocation();
  const [, open] = parts;
  useWatching(NEW_RUNS_MS);
  const schema = useTool('list_agent_runs')?.inputSchema;
  const given = [...query].filter(([name, value]) => schema?.properties?.[name] && value !== '');
  const search = query.toString();
  const kept = search && `?${search}`;
  return (
    <div class={open === undefined ? 'kind' : 'kind with-detail'}>
      <section class="list-pane" aria-label="Agent runs">
        <PageHead title="Agent runs">{given.length > 0 && <LinkButton text="Clear filters" to="/runs" />}</PageHead>
        <FilterBar
          find={<FilterChoice name="status" label="Status" options={optionsOf(schema?.properties?.status?.enum)} />}
          set={given.filter(([name]) => name !== 'status').length}
        >
          <FilterRecord name="agentId" label="Agent" kinds={{ agent: 'Agents' }} />
          <FilterRecord name="principal" label="Who" kinds={CALLERS} />
          <FilterRecord name="threadId" label="Thread" kinds={{ thread: 'Threads' }} />
        </FilterBar>
        <RunList
          asked={schema && { limit: 50, ...Object.fromEntries(given) }}
          to={(id) => `/runs/${encodeURIComponent(id)}${kept}`}
          picked={open}
          isNarrowed={given.length > 0}
        />
      </section>
      {open !== undefined && <RunPane key={open} id={open} back={`/runs${kept}`} />}
    </div>
  );
}

function RunPane({ id, back }: { readonly id: string; readonly back: string }) {
  const { data, error } = useAnswer<ShownRun>('get_agent_run', { id });
  usePolling(data !== undefined && isOpen(data));
  return (
    <section class="detail-pane" aria-label="Run">
      <DetailBar all="runs" to={back} id={id} />
      {data ? <Body run={data} /> : error ? <ErrorBox error={error} /> : <Skeleton lines={8} />}
    </section>
  );
}

function isOpen({ status }: ShownRun): boolean {
  return status === 'running' || status === 'waiting';
}

function Body({ run }: { readonly run: ShownRun }) {
  return (
    <>
      <div class="detail-title">
        <h1>
          {run.agentId === undefined ? 'Assistant' : <Ref id={run.agentId} />} <Badge value={run.status} />
        </h1>
        {isOpen(run) && (
          <CancelRun tool="cancel_agent_run" id={run.id}>
            What its calls did stays done. A call under way may still finish.
          </CancelRun>
        )}
        {!isOpen(run) && <UndoButton by={{ runId: run.id }} since={run.createdAt} />}
      </div>
      {run.waitsFor && run.waitsFor.length > 0 && (
        <div class="run-waits">
          <WaitingCalls calls={run.waitsFor} />
        </div>
      )}
      {run.error && (
        <p class="note alarm" role="note">
          {run.error.message} <Mono>{run.error.code}</Mono>
        </p>
      )}
      <RunFacts run={run} />
      <h2>What it was given</h2>
      <RunInput run={run} />
      <h2>What it did</h2>
      <Trace run={run} />
    </>
  );
}

function RunFacts({ run }: { readonly run: ShownRun }) {
  const readsAudit = useMay('list_audit_entries');
  const currency = useCurrency(run.cost !== undefined);
  const {
    cost: spent,
    createdAt,
    finishedAt,
    principal,
    onBehalfOf,
    threadId,
    model,
    usage,
    stopReason,
    requestId,
  } = run;
  const started = (
    <>
      <Time at={createdAt} /> <span class="faint">{duration(createdAt, finishedAt)}</span>
    </>
  );
  const audit = `/audit?requestId=${encodeURIComponent(requestId ?? '')}`;
  return (
    <Facts
      of={{
        Started: started,
        'Asked by': <Callers caller={principal} onBehalfOf={onBehalfOf} />,
        Thread: threadId && <Ref id={threadId} />,
        Model: model,
        Tokens: <Tokens {...usage} />,
        Cost: spent !== undefined && currency !== undefined && cost(spent, currency),
        Stopped: stopReason && wordOf(stopReason),
        Request: requestId !== undefined && readsAudit && <Link to={audit}>its calls in the audit log</Link>,
      }}
    />
  );
}

function Tokens(usage: TokenUsage) {
  return <span title={tokensTitle(usage)}>{tokensInWords(usage)}</span>;
}
