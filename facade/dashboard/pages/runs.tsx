import type { AgentRun, AgentRunCall, AgentTurn, GivenPassage, RecordRevision } from '../../../resources/agent-run.ts';
import { at, CALLERS, counted, duration, number, useAnswer, useLocation, useMay, useTool, wordOf } from '../app.ts';
import { FilterChoice, FilterRecord } from '../components/filters.tsx';
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
import { RunList } from './runs/run-list.tsx';
import { tokensTitle } from './usage/numbers.ts';

export function Page() {
  const { query, parts } = useLocation();
  const [, open] = parts;
  const schema = useTool('list_agent_runs')?.inputSchema;
  const given = [...query].filter(([name, value]) => schema?.properties?.[name] && value !== '');
  const search = query.toString();
  const kept = search && `?${search}`;
  return (
    <div class={open === undefined ? 'kind' : 'kind with-detail'}>
      <section class="list-pane" aria-label="Agent runs">
        <PageHead title="Agent runs">{given.length > 0 && <LinkButton text="Clear filters" to="/runs" />}</PageHead>
        <div class="filters">
          <FilterChoice name="status" label="Status" options={optionsOf(schema?.properties?.status?.enum)} />
          <FilterRecord name="agentId" label="Agent" kinds={{ agent: 'Agents' }} />
          <FilterRecord name="principal" label="Who" kinds={CALLERS} />
          <FilterRecord name="threadId" label="Thread" kinds={{ thread: 'Threads' }} />
        </div>
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

/** As `get_agent_run` answers it. */
type Run = AgentRun & { readonly hidden: number };

function RunPane({ id, back }: { readonly id: string; readonly back: string }) {
  const { data, error } = useAnswer<Run>('get_agent_run', { id });
  return (
    <section class="detail-pane" aria-label="Run">
      <DetailBar all="runs" to={back} id={id} />
      {error ? <ErrorBox error={error} /> : data ? <Body run={data} /> : <Skeleton lines={8} />}
    </section>
  );
}

function isOpen({ status }: Run): boolean {
  return status === 'running' || status === 'waiting';
}

function Body({ run }: { readonly run: Run }) {
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
      {run.waitsFor?.map(({ approvalId, tool }) => (
        <p key={approvalId} class="note" role="note">
          <a href={at(`/approvals/${approvalId}`)}>
            <Mono>{tool}</Mono> waits for somebody’s yes
          </a>
        </p>
      ))}
      {run.error && (
        <p class="note alarm" role="note">
          {run.error.message} <Mono>{run.error.code}</Mono>
        </p>
      )}
      <RunFacts run={run} />
      <h2>What it was given</h2>
      <RunInput run={run} />
      <h2>Turns</h2>
      {run.turns?.length ? (
        <ol class="timeline">
          {run.turns.map((turn, at) => (
            <Turn key={at} at={at + 1} turn={turn} calls={run.calls?.filter((call) => call.turn === at + 1) ?? []} />
          ))}
        </ol>
      ) : (
        <p class="quiet">The model has not answered yet.</p>
      )}
    </>
  );
}

function RunFacts({ run }: { readonly run: Run }) {
  const readsAudit = useMay('list_audit_entries');
  const { createdAt, finishedAt, principal, onBehalfOf, threadId, model, usage, stopReason, requestId } = run;
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
        Stopped: stopReason && wordOf(stopReason),
        Request: requestId !== undefined && readsAudit && <Link to={audit}>its calls in the audit log</Link>,
      }}
    />
  );
}

/** The records in its prompt, each in the revision it had then. */
function RunInput({
  run: { agentRevision, prompt, skills, memories, passages, summary, hidden },
}: {
  readonly run: Run;
}) {
  const sections = prompt && (
    <>
      <Link to="/settings?tab=prompt">prompt sections</Link> <span class="faint">revision {prompt.revision}</span>
    </>
  );
  return (
    <Facts
      of={{
        Agent: agentRevision !== undefined && `revision ${agentRevision}`,
        Prompt: sections,
        Skills: <Records records={skills} />,
        Memories: <Records records={memories} />,
        Passages: passages && <Passages passages={passages} />,
        Earlier: summary && summaryWords(summary),
        'Not shown': hidden > 0 && `${counted(hidden, 'record')} deleted since, or not yours to read`,
      }}
    />
  );
}

function summaryWords({ messages, leftOut }: NonNullable<Run['summary']>): string {
  const all = counted(messages, 'message');
  if (leftOut === messages) return `${all} left out`;
  return `a summary of ${all}${leftOut > 0 ? `, ${leftOut} of them left out` : ''}`;
}

function Records({ records = [] }: { readonly records: readonly RecordRevision[] | undefined }) {
  if (records.length === 0) return <span class="faint">None</span>;
  return (
    <>
      {records.map(({ id, revision }) => (
        <div key={id}>
          <Ref id={id} /> <span class="faint">revision {revision}</span>
        </div>
      ))}
    </>
  );
}

function Passages({ passages }: { readonly passages: readonly GivenPassage[] }) {
  return (
    <>
      {passages.map(({ number, id, revision, path }) => (
        <div key={number}>
          [{number}] <Ref id={id} /> {path} <span class="faint">revision {revision}</span>
        </div>
      ))}
    </>
  );
}

function Turn({ at, turn, calls }: Readonly<{ at: number; turn: AgentTurn; calls: readonly AgentRunCall[] }>) {
  return (
    <li class={calls.some(({ outcome }) => outcome === 'failed') ? 'step-failed' : 'step-succeeded'}>
      <span class="timeline-title">Turn {at}</span>{' '}
      <span class="faint">
        <Tokens {...turn.usage} />, {seconds(turn.ms)}
      </span>
      {calls.map((call, place) => (
        <Call key={place} call={call} />
      ))}
      {calls.length === 0 && <p class="quiet">{turn.summarizes ? 'Summarised earlier messages.' : 'Answered.'}</p>}
    </li>
  );
}

function Call({ call: { tool, outcome, code, ms, records, runId } }: { readonly call: AgentRunCall }) {
  return (
    <details class="called">
      <summary>
        Called <Mono>{tool}</Mono> <span class="faint">{seconds(ms)}</span>
        {outcome === 'failed' && <Badge tone="alarm">{code ?? 'Failed'}</Badge>}
      </summary>
      <div class="called-body">
        {runId !== undefined && (
          <p>
            <Link to={`/runs/${encodeURIComponent(runId)}`}>The run that it began</Link>
          </p>
        )}
        {records.length > 0 ? <Records records={records} /> : <p class="quiet">No records in its answer.</p>}
      </div>
    </details>
  );
}

function Tokens(usage: Run['usage']) {
  return (
    <span title={tokensTitle(usage)}>
      {number(usage.inputTokens)} → {number(usage.outputTokens)}
    </span>
  );
}

function seconds(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${number(Math.round(ms / 100) / 10)} s`;
}
