import type { AgentRun, AgentRunCall, AgentTurn, ModelFallback } from '../../../../resources/agent-run.ts';

/** As `get_agent_run` answers it. `cost` is there for who may read usage. */
export type PricedTurn = AgentTurn & { readonly cost?: number | null | undefined };
export type ShownRun = Omit<AgentRun, 'turns'> & {
  readonly hidden: number;
  readonly cost?: number | null | undefined;
  readonly turns?: readonly PricedTurn[] | undefined;
};

/** A part of a run on its time line, in milliseconds since 1970. */
export type Span = Readonly<{ from: number; to: number; key: string }> &
  (
    | { readonly kind: 'turn'; readonly turn: PricedTurn; readonly number: number; readonly isRetry: boolean }
    | { readonly kind: 'call'; readonly call: AgentRunCall; readonly place: number }
    | { readonly kind: 'fallback'; readonly fallback: ModelFallback }
    | { readonly kind: 'wait' }
    | { readonly kind: 'open' }
  );

export interface TimeLine {
  readonly spans: readonly Span[];
  readonly from: number;
  readonly to: number;
}

/**
 * The parts of a run in their order. Runs that older versions kept have no times of their parts, so these stand one after the other, as they
 * happened. A fallback takes the time from what was before it until the turn that another model took.
 */
export function timeLineOf(run: ShownRun, now = Date.now()): TimeLine {
  const from = Date.parse(run.createdAt);
  const isOpen = run.status === 'running' || run.status === 'waiting';
  const end = run.finishedAt === undefined ? undefined : Date.parse(run.finishedAt);
  const spans: Span[] = [];
  let last = from;
  const begun = (at: string | undefined) => (at === undefined ? last : Math.max(from, Date.parse(at)));
  const fellBack = (number: number, until: number | undefined) => {
    for (const fallback of run.fallbacks?.filter(({ turn }) => turn === number) ?? []) {
      const to = Math.max(last, until ?? last);
      spans.push({ kind: 'fallback', fallback, from: last, to, key: `fallback ${spans.length}` });
      last = to;
    }
  };
  const called = (number: number) => {
    for (const [place, call] of (run.calls ?? []).entries()) {
      if (call.turn !== number) continue;
      const at = begun(call.at);
      spans.push({ kind: 'call', call, place, from: at, to: at + call.ms, key: `call ${place}` });
      last = Math.max(last, at + call.ms);
    }
  };
  const turns = run.turns ?? [];
  for (const [index, turn] of turns.entries()) {
    const at = begun(turn.at);
    fellBack(index + 1, at);
    const isRetry = turns[index - 1]?.cutOff === true;
    spans.push({ kind: 'turn', turn, number: index + 1, isRetry, from: at, to: at + turn.ms, key: `turn ${index}` });
    last = Math.max(last, at + turn.ms);
    called(index + 1);
  }
  fellBack(turns.length + 1, end);
  if (run.status === 'waiting' || run.stopReason === 'approval')
    spans.push({ kind: 'wait', from: last, to: Math.max(last, end ?? now), key: 'wait' });
  else if (isOpen) spans.push({ kind: 'open', from: last, to: Math.max(last, now), key: 'open' });
  return { spans, from, to: Math.max(from + 1, end ?? from, ...spans.map(({ to }) => to)) };
}
