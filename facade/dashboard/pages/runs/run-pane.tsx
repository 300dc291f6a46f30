import { duration, number, useAnswer, useMay, wordOf } from '../../app.ts';
import {
  Badge,
  Caller,
  CancelRun,
  ErrorBox,
  Link,
  LinkButton,
  Mono,
  NamedValue,
  Ref,
  Skeleton,
  Time,
} from '../../ui.ts';
import type { Run, RunCall, RunTurn } from './run.ts';

/** One run: what it was given, its turns with their calls, how it ended, and the ways on from there. */
export function RunPane({ id, back }: { readonly id: string; readonly back: string }) {
  const { data, error } = useAnswer<Run>('get_agent_run', { id });
  return (
    <section class="detail-pane" aria-label="Run">
      <header class="detail-bar">
        <LinkButton look="quiet" icon="back" label="All runs" to={back} />
        <Mono>{id}</Mono>
      </header>
      {error ? <ErrorBox error={error} /> : data ? <Body run={data} /> : <Skeleton lines={8} />}
    </section>
  );
}

function Body({ run }: { readonly run: Run }) {
  return (
    <>
      <div class="detail-title">
        <h1>
          {run.agentId === undefined ? 'Assistant' : <Ref id={run.agentId} />} <Badge value={run.status} />
        </h1>
        {run.status === 'running' && (
          <CancelRun tool="cancel_agent_run" id={run.id}>
            What its calls did stays done. A call under way may still finish.
          </CancelRun>
        )}
      </div>
      {run.error && (
        <p class="note alarm" role="note">
          {run.error.message} <Mono>{run.error.code}</Mono>
        </p>
      )}
      <Facts run={run} />
      <h2>What it was given</h2>
      <Given run={run} />
      <h2>Turns</h2>
      {run.turns?.length ? (
        <ol class="timeline">
          {run.turns.map((turn, at) => (
            <Turn key={at} at={at + 1} turn={turn} calls={run.calls.filter((call) => call.turn === at + 1)} />
          ))}
        </ol>
      ) : (
        <p class="quiet">The model has not answered yet.</p>
      )}
    </>
  );
}

function Facts({ run }: { readonly run: Run }) {
  const readsAudit = useMay('list_audit_entries');
  return (
    <dl class="fields">
      <NamedValue name="Started">
        <Time at={run.createdAt} /> <span class="faint">{duration(run.createdAt, run.finishedAt)}</span>
      </NamedValue>
      <NamedValue name="Asked by">
        <Caller caller={run.principal} />
        {run.onBehalfOf?.map((caller) => (
          <span key={caller.id}>
            {' '}
            for <Caller caller={caller} />
          </span>
        ))}
      </NamedValue>
      {run.threadId !== undefined && (
        <NamedValue name="Thread">
          <Ref id={run.threadId} />
        </NamedValue>
      )}
      <NamedValue name="Model">{run.model}</NamedValue>
      <NamedValue name="Tokens">
        <Tokens {...run.usage} />
      </NamedValue>
      {run.stopReason !== undefined && <NamedValue name="Stopped">{wordOf(run.stopReason)}</NamedValue>}
      {run.requestId !== undefined && readsAudit && (
        <NamedValue name="Request">
          <Link to={`/audit?requestId=${encodeURIComponent(run.requestId)}`}>its calls in the audit log</Link>
        </NamedValue>
      )}
    </dl>
  );
}

/** The records in its prompt, each in the revision it had then. */
function Given({ run: { agentRevision, prompt, skills, memories, hidden } }: { readonly run: Run }) {
  return (
    <dl class="fields">
      {agentRevision !== undefined && <NamedValue name="Agent">revision {agentRevision}</NamedValue>}
      {prompt && (
        <NamedValue name="Prompt">
          <Link to="/settings?tab=prompt">prompt sections</Link> <span class="faint">revision {prompt.revision}</span>
        </NamedValue>
      )}
      <NamedValue name="Skills">
        <Records records={skills} />
      </NamedValue>
      <NamedValue name="Memories">
        <Records records={memories} />
      </NamedValue>
      {hidden > 0 && (
        <NamedValue name="Not shown">
          {number(hidden)} {hidden === 1 ? 'record' : 'records'} deleted since, or not yours to read
        </NamedValue>
      )}
    </dl>
  );
}

function Records({ records }: { readonly records: Run['skills'] }) {
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

function Turn({ at, turn, calls }: Readonly<{ at: number; turn: RunTurn; calls: readonly RunCall[] }>) {
  return (
    <li class={calls.some(({ outcome }) => outcome === 'failed') ? 'step-failed' : 'step-succeeded'}>
      <span class="timeline-title">Turn {at}</span>{' '}
      <span class="faint">
        <Tokens {...turn.usage} />, {seconds(turn.ms)}
      </span>
      {calls.map((call, place) => (
        <Call key={place} call={call} />
      ))}
      {calls.length === 0 && <p class="quiet">Answered.</p>}
    </li>
  );
}

function Call({ call: { tool, outcome, code, ms, records, runId } }: { readonly call: RunCall }) {
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

function Tokens({ inputTokens, outputTokens }: Run['usage']) {
  return (
    <span title="Tokens read and written">
      {number(inputTokens)} → {number(outputTokens)}
    </span>
  );
}

function seconds(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${number(Math.round(ms / 100) / 10)} s`;
}
