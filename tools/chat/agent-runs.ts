import type { Agent } from '../../resources/agent.ts';
import type { AgentRun } from '../../resources/agent-run.ts';
import type { Store, Writers } from '../../store/port.ts';
import { authorOf, type Principal } from '../access/principal.ts';
import { RunEnded, type RunOutcome } from '../agents/exports.ts';
import { type ToolError, toToolError } from '../registry/errors.ts';

type Runs = Pick<Writers, 'agentRuns'>;

const KEPT_MS = 30 * 24 * 60 * 60 * 1000;
/** Longer than a run can continue after its time is over. */
const GRACE_MS = 60_000;

interface Beginning {
  readonly kind: AgentRun['kind'];
  readonly agent: Agent | undefined;
  readonly model: string;
  readonly principal: Principal;
  readonly threadId?: string;
}

/** Stores that a run begins, and deletes a few runs older than 30 days. */
export async function beginRun(
  { agentRuns }: Runs,
  { kind, agent, model, principal, threadId }: Beginning,
  now: Date,
): Promise<AgentRun> {
  const to = new Date(now.getTime() - KEPT_MS).toISOString();
  for (const { id } of (await agentRuns.find({ to, order: 'oldest', limit: 3 })).records) await agentRuns.delete(id);
  return agentRuns.insert({
    kind,
    status: 'running',
    ...(agent && { agentId: agent.id }),
    ...(threadId !== undefined && { threadId }),
    model,
    principal: authorOf(principal),
    steps: 0,
    usage: { inputTokens: 0, outputTokens: 0 },
  });
}

/** The run that is under way in a thread, if any. A run that must have ended long ago does not count. */
export async function runningIn({ agentRuns }: Runs, threadId: string, runMs: number, now: Date) {
  const { records } = await agentRuns.find({ where: { threadId, status: 'running' }, limit: 10 });
  const oldest = new Date(now.getTime() - runMs - GRACE_MS).toISOString();
  for (const lost of records.filter(({ createdAt }) => createdAt < oldest))
    await agentRuns.update(lost.id, lostRun(now));
  return records.find(({ createdAt }) => createdAt >= oldest);
}

export function succeeded({ steps, usage, stopReason }: RunOutcome, now: Date) {
  return { status: 'succeeded' as const, steps, usage, stopReason, finishedAt: now.toISOString() };
}

/** What a failed run's record says, and the error for the caller. */
export function failed(thrown: unknown, now: Date) {
  const ended = thrown instanceof RunEnded ? thrown : undefined;
  const error: ToolError = ended?.error ?? toToolError(thrown);
  const { code, message } = error;
  const status = ended?.status ?? ('failed' as const);
  const change = { status, error: { code, message }, finishedAt: now.toISOString() };
  return { error, change, unfinished: ended?.unfinished ?? '' };
}

function lostRun(now: Date) {
  const message = 'The server ended before the run did.';
  return { status: 'failed' as const, error: { code: 'internal' as const, message }, finishedAt: now.toISOString() };
}

/** Called before a server begins to serve. Marks runs of an earlier process as failed. */
export async function settleRuns(store: Store, now: () => Date = () => new Date()): Promise<void> {
  for (;;) {
    const { records } = await store.agentRuns.find({ where: { status: 'running' }, limit: 500 });
    if (records.length === 0) return;
    await store.transaction(async (tx) => {
      for (const { id } of records) await tx.agentRuns.update(id, lostRun(now()));
    });
  }
}
