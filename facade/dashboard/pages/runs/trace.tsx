import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { AuditEntry } from '../../../../resources/audit-entry.ts';
import type { Message } from '../../../../resources/message.ts';
import { type ListAnswer, number, useAnswer, useMay, wordOf } from '../../app.ts';
import { Prose } from '../../components/prose.tsx';
import { Badge, ErrorBox, Facts, Json, Link, Mono, Skeleton } from '../../ui.ts';
import { cost, partsOf, time, tokensInWords, useCurrency } from '../usage/numbers.ts';
import { Records } from './given.tsx';
import { type PricedTurn, type ShownRun, type Span, type TimeLine, timeLineOf } from './spans.ts';

/** What a run did in time: turns of the model, calls of tools, waits and other models asked. Each opens what went in and came out. */
export function Trace({ run, within }: { readonly run: ShownRun; readonly within?: TimeLine }) {
  const line = timeLineOf(run);
  const frame = within ?? line;
  const said = useSaid(run);
  if (line.spans.length === 0) return <p class="quiet">The model has not answered yet.</p>;
  return (
    <ol class={within ? 'trace nested' : 'trace'} onKeyDown={move}>
      {line.spans.map((span) => (
        <li key={span.key}>
          <Row span={span} frame={frame} run={run} said={said} />
        </li>
      ))}
    </ol>
  );
}

/** Arrows go from bar to bar. */
function move(event: KeyboardEvent): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const from = event.target;
  if (step === undefined || !(from instanceof HTMLElement) || from.localName !== 'summary') return;
  const all = [...(from.closest('.trace:not(.nested)')?.querySelectorAll<HTMLElement>('.trace-span > summary') ?? [])];
  const next = all.filter((one) => one.offsetParent !== null);
  next[next.indexOf(from) + step]?.focus();
  event.preventDefault();
  event.stopPropagation();
}

type RowProps = Readonly<{ span: Span; frame: TimeLine; run: ShownRun; said: Said }>;

function Row({ span, frame, run, said }: RowProps) {
  const [isOpen, setOpen] = useState(false);
  const currency = useCurrency(run.cost !== undefined);
  const { name, tone } = shownAs(span);
  return (
    <details class="trace-span" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        <span class="trace-name">{name}</span>
        <span class="trace-track" aria-hidden="true">
          <span class={`trace-bar ${tone}`} style={placeOf(span, frame)} />
        </span>
        <span class="trace-more number">
          {span.kind === 'turn' && <Spent turn={span.turn} currency={currency} />}
          <span class="trace-time">{time(span.to - span.from)}</span>
        </span>
      </summary>
      {isOpen && <div class="called-body">{<Opened span={span} frame={frame} run={run} said={said} />}</div>}
    </details>
  );
}

function placeOf({ from, to }: Span, frame: TimeLine) {
  const whole = frame.to - frame.from;
  const left = Math.min(100, Math.max(0, ((from - frame.from) / whole) * 100));
  return { left: `${left}%`, width: `${Math.min(100 - left, ((to - from) / whole) * 100)}%` };
}

function shownAs(span: Span): { readonly name: ComponentChildren; readonly tone: string } {
  if (span.kind === 'wait') return { name: 'Waited for a person', tone: 'waits' };
  if (span.kind === 'open') return { name: 'Under way', tone: 'waits' };
  if (span.kind === 'fallback') return { name: <>{span.fallback.model} did not answer</>, tone: 'failed' };
  if (span.kind === 'turn') {
    const { summarizes, cutOff } = span.turn;
    const words = summarizes ? 'Summary of earlier messages' : `Turn ${span.number}${span.isRetry ? ', again' : ''}`;
    return {
      name: cutOff ? (
        <>
          {words} <Badge tone="warn">Broke off</Badge>
        </>
      ) : (
        words
      ),
      tone: cutOff ? 'failed' : 'model',
    };
  }
  const { tool, outcome, code } = span.call;
  const waits = code === 'approval_required';
  const badge = waits ? (
    <Badge value={code} />
  ) : (
    <Badge tone="alarm">{code === undefined ? 'Failed' : wordOf(code)}</Badge>
  );
  const name = (
    <>
      <Mono>{tool}</Mono> {outcome === 'failed' && badge}
    </>
  );
  return { name, tone: outcome !== 'failed' ? 'tool' : waits ? 'waits' : 'failed' };
}

function Spent({ turn, currency }: { readonly turn: PricedTurn; readonly currency: string | undefined }) {
  return (
    <span class="trace-spent">
      {tokensInWords(turn.usage)}
      {turn.cost !== undefined && currency !== undefined && ` · ${cost(turn.cost, currency)}`}
    </span>
  );
}

function Opened({ span, frame, run, said }: RowProps) {
  if (span.kind === 'turn') return <Turn turn={span.turn} text={said.texts[span.number - 1]} run={run} />;
  if (span.kind === 'fallback')
    return (
      <p>
        {REASONS[span.fallback.reason]} Turn {span.fallback.turn} was taken by another model.
      </p>
    );
  if (span.kind === 'open') return <p>The run goes on.</p>;
  if (span.kind === 'wait') return <Waits run={run} />;
  const { records, runId, auditId } = span.call;
  const { input, answer } = said.calls[span.place] ?? {};
  return (
    <>
      {input === undefined && auditId !== undefined && <Audited id={auditId} />}
      {input !== undefined && <Json value={input} label={`Input of ${span.call.tool}`} />}
      {answer !== undefined && <Json value={parsed(answer)} label={`Answer of ${span.call.tool}`} />}
      {records.length > 0 && (
        <>
          <h3>Records in its answer</h3>
          <Records records={records} />
        </>
      )}
      {input === undefined && answer === undefined && records.length === 0 && runId === undefined && (
        <p class="quiet">No records in its answer.</p>
      )}
      {runId !== undefined && <Nested id={runId} frame={frame} />}
    </>
  );
}

const REASONS = {
  overloaded: 'Its provider had too much to do.',
  timeout: 'It did not answer in time.',
  failed: 'Its provider failed.',
  unreachable: 'Its provider could not be reached.',
} as const;

function Turn({
  turn,
  text,
  run,
}: {
  readonly turn: PricedTurn;
  readonly text: string | undefined;
  readonly run: ShownRun;
}) {
  const { model, usage, calls } = turn;
  const currency = useCurrency(run.cost !== undefined);
  const { input, output } = partsOf(usage);
  return (
    <>
      <Facts
        of={{
          Model: model,
          Input: `${number(usage.inputTokens)} tokens${input && `: ${input}`}`,
          Output: `${number(usage.outputTokens)} tokens${output && `: ${output}`}`,
          Cost: turn.cost !== undefined && currency !== undefined && cost(turn.cost, currency),
          Calls: calls > 0 && number(calls),
        }}
      />
      {text ? <Prose text={text} /> : null}
    </>
  );
}

function Waits({ run: { waitsFor } }: { readonly run: ShownRun }) {
  if (!waitsFor?.length) return <p>It went on when somebody had decided.</p>;
  return (
    <ul>
      {waitsFor.map(({ approvalId, tool }) => (
        <li key={approvalId}>
          <Link to={`/approvals/${approvalId}`}>{tool}</Link>
        </li>
      ))}
    </ul>
  );
}

/** The input of a call as the audit log keeps it, where no thread has it. */
function Audited({ id }: { readonly id: string }) {
  const may = useMay('list_audit_entries');
  const { data } = useAnswer<ListAnswer<AuditEntry>>(may ? 'list_audit_entries' : undefined, { id });
  const entry = data?.data[0];
  return entry ? <Json value={entry.arguments} label={`Input of ${entry.tool}`} /> : null;
}

function Nested({ id, frame }: { readonly id: string; readonly frame: TimeLine }) {
  const { data, error } = useAnswer<ShownRun>('get_agent_run', { id });
  return (
    <>
      <p>
        <Link to={`/runs/${encodeURIComponent(id)}`}>The run that it began</Link>
      </p>
      {error ? (
        error.code !== 'not_found' && <ErrorBox error={error} />
      ) : data ? (
        <Trace run={data} within={frame} />
      ) : (
        <Skeleton lines={3} />
      )}
    </>
  );
}

/** What was said in a run, as far as its thread shows it. */
interface Said {
  /** By the place of the turn. */
  readonly texts: readonly (string | undefined)[];
  /** By the place of the call. */
  readonly calls: readonly (Readonly<{ input: unknown; answer: string | undefined }> | undefined)[];
}

const NEWEST = 100;

function useSaid({ id, threadId, turns = [], calls = [] }: ShownRun): Said {
  const may = useMay('list_messages') && threadId !== undefined;
  const { data } = useAnswer<ListAnswer<Message>>(may ? 'list_messages' : undefined, { id: threadId, limit: NEWEST });
  const all = data?.data ?? [];
  const answers = new Map(all.map(({ toolCallId, content }) => [toolCallId, content]));
  const asked = new Map(
    all.flatMap(({ toolCalls = [], content }) => toolCalls.map((call) => [call.id, { call, content }])),
  );
  const written = all.filter(({ role, runId }) => role === 'assistant' && runId === id).reverse();
  const told = turns.flatMap((turn, place) => (turn.summarizes || turn.cutOff ? [] : [place]));
  // Turns without calls are told by their order alone, which says nothing where messages are missing.
  const isWhole = written.length === told.length;
  return {
    texts: turns.map((_, place) => {
      const ids = calls.flatMap(({ turn, toolCallId }) => (turn === place + 1 ? (toolCallId ?? []) : []));
      const [known] = ids.flatMap((id) => asked.get(id) ?? []);
      return known ? known.content : isWhole ? written[told.indexOf(place)]?.content : undefined;
    }),
    calls: calls.map(({ toolCallId = '' }) => {
      const known = asked.get(toolCallId);
      return known && { input: known.call.arguments, answer: answers.get(toolCallId) };
    }),
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
