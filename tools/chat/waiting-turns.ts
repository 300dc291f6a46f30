import type { AgentRunRecord } from '../../resources/agent-run.ts';
import { DAY_MS } from '../../resources/durations.ts';
import { newId } from '../../store/ids.ts';
import { pagesOf } from '../../store/pages.ts';
import { type PeriodicTask, startPeriodicTask } from '../../store/periodic-task.ts';
import type { Store } from '../../store/port.ts';
import { whileHolding } from '../../store/while-holding.ts';
import { credentialStatusOrError } from '../core/access/credential-status.ts';
import { ToolError } from '../core/errors.ts';
import { firstOpen } from '../core/registry/approvals.ts';
import { isStoredError } from '../core/registry/idempotency.ts';
import { allOf } from '../core/registry/paging.ts';
import type { Registry } from '../core/registry/registry.ts';
import { endInner } from '../runs/run-records.ts';

const LOOK_EVERY_MS = 5000;

interface Options {
  readonly store: Store;
  readonly registry: Registry;
  onFailure(cause: unknown): void;
}

/** Goes on with runs in threads whose calls waited for a person: as soon as that one has decided, and with those that another process left. */
export class WaitingTurns {
  readonly #options: Options;
  readonly #running = new Map<string, Promise<void>>();
  readonly #close = new AbortController();
  #stop: (() => void) | undefined;
  #looking: PeriodicTask | undefined;
  /** One walk runs, and at most one is queued: it serves all requests that come during the first. */
  #walk = Promise.resolve();
  #next: Promise<void> | undefined;

  constructor(options: Options) {
    this.#options = options;
  }

  start(): this {
    const { store, onFailure } = this.#options;
    this.#stop = store.onCommit(
      ({ changes }) => {
        const isDecided = changes.some(({ record }) => record.status !== 'waiting');
        if (isDecided && !this.#next) void this.#begin().catch(onFailure);
      },
      ['approvals'],
    );
    this.#looking = startPeriodicTask(() => this.#begin(), onFailure, LOOK_EVERY_MS);
    return this;
  }

  /** Goes on with all that can, and resolves when those runs have ended or wait again. */
  async look(): Promise<void> {
    await this.#begin();
    await Promise.all(this.#running.values());
  }

  /** Ends the runs under way, as the end of their caller's connection would. */
  async close(): Promise<void> {
    this.#stop?.();
    this.#close.abort();
    await this.#looking?.close();
    await this.#walk;
    await Promise.all(this.#running.values());
  }

  #begin(): Promise<void> {
    this.#next ??= this.#walk.then(() => {
      this.#next = undefined;
      return this.#beginAll();
    });
    this.#walk = this.#next.catch(() => {});
    return this.#next;
  }

  async #beginAll(): Promise<void> {
    const { store, registry, onFailure } = this.#options;
    for await (const runs of pagesOf(store.agentRuns, { where: { status: 'waiting' }, order: 'oldest', limit: 200 })) {
      for (const run of runs) {
        if (this.#close.signal.aborted) return;
        const now = registry.server.now();
        const isOpen = await firstOpen(store, run.waitsFor, now);
        if (isOpen || this.#running.has(run.id)) continue;
        if (run.kind === 'invoke') {
          if ((await isLeft(run, store, now)) && !(await isAwaited(run, store))) await this.#end(run.id, LEFT);
          continue;
        }
        const ended = this.#goOn(run)
          .catch(onFailure)
          .finally(() => this.#running.delete(run.id));
        this.#running.set(run.id, ended);
      }
    }
  }

  async #goOn({ id }: AgentRunRecord): Promise<void> {
    const { store, registry } = this.#options;
    await whileHolding(store, `agent run ${id}`, async () => {
      const run = await store.agentRuns.get(id);
      if (run?.status !== 'waiting' || (await firstOpen(store, run.waitsFor, registry.server.now()))) return;
      const problem = await this.#call(run);
      if (problem) await this.#end(id, problem);
    });
  }

  /** The call by which its caller would go on. Returns why that was refused for good. */
  async #call({ id, threadId, resumesAs, door = 'mcp', requestId }: AgentRunRecord): Promise<ToolError | undefined> {
    const { store, registry } = this.#options;
    const { catalog, now } = registry.server;
    const checkCredential = async () =>
      resumesAs
        ? credentialStatusOrError(resumesAs, store, { catalog, now: now() })
        : new ToolError('unauthenticated', 'Nobody goes on with it.');
    const principal = await checkCredential();
    if (principal instanceof ToolError) return principal;
    const answer = await registry.call({
      principal,
      tool: 'send_chat_message',
      input: { threadId, continue: id },
      door,
      requestId: requestId ?? newId('req'),
      checkCredential,
      signal: this.#close.signal,
    });
    if (answer.ok || !isFinal(answer.error.code)) return undefined;
    return new ToolError(answer.error.code, answer.error.error);
  }

  /** Unless another run has taken over from it. */
  async #end(id: string, { code, message }: ToolError): Promise<void> {
    const { store, registry } = this.#options;
    await store.transaction(async (tx) => {
      const run = await tx.agentRuns.get(id);
      if (run?.status !== 'waiting') return;
      const now = registry.server.now();
      await tx.agentRuns.update(id, { status: 'failed', error: { code, message }, finishedAt: now.toISOString() });
      await endInner(tx, run.waitsFor, now);
    });
  }
}

/** Whoever asked for such a run comes back for it once all is decided: its flow, or the caller that was told how. */
async function isLeft(
  { waitsFor = [], updatedAt }: AgentRunRecord,
  { approvals }: Pick<Store, 'approvals'>,
  now: Date,
) {
  const known = await Promise.all(waitsFor.map(({ approvalId }) => approvals.get(approvalId)));
  const ends = known.flatMap((one) => (one ? [Date.parse(one.decidedAt ?? one.expiresAt)] : []));
  return Math.max(Date.parse(updatedAt), ...ends) + LEFT_MS < now.getTime();
}

/** Whether a run of the agent that invoked it still comes back for it. */
async function isAwaited({ id, resumesAs }: AgentRunRecord, { agentRuns }: Pick<Store, 'agentRuns'>) {
  if (resumesAs?.type !== 'agent') return false;
  const outer = await allOf(agentRuns, { where: { agentId: resumesAs.id, status: ['running', 'waiting'] } });
  return outer.some(({ waitsFor = [] }) => waitsFor.some(({ inner }) => inner?.runId === id));
}

const LEFT_MS = DAY_MS;
const LEFT = new ToolError(
  'conflict',
  'The run waited for a person, and when that one had decided nobody came back for it.',
);

/** What the server lacked for a moment is tried again. */
function isFinal(code: ToolError['code']): boolean {
  return isStoredError(code) || code === 'unauthenticated' || code === 'rate_limited';
}
