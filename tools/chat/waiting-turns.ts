import type { AgentRunRecord } from '../../resources/agent-run.ts';
import { alone } from '../../store/alone.ts';
import { newId } from '../../store/ids.ts';
import { pagesOf } from '../../store/pages.ts';
import { type PeriodicTask, startPeriodicTask } from '../../store/periodic-task.ts';
import type { Store } from '../../store/port.ts';
import { standingOf } from '../core/access/credential-status.ts';
import { ToolError } from '../core/errors.ts';
import { firstOpen } from '../core/registry/approvals.ts';
import { isStoredError } from '../core/registry/idempotency.ts';
import type { Registry } from '../core/registry/registry.ts';

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

  constructor(options: Options) {
    this.#options = options;
  }

  start(): this {
    const { store, onFailure } = this.#options;
    this.#stop = store.onCommit(
      ({ changes }) => {
        if (changes.some(({ record }) => record.status !== 'waiting')) void this.#begin().catch(onFailure);
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
    await Promise.all(this.#running.values());
  }

  async #begin(): Promise<void> {
    const { store, registry, onFailure } = this.#options;
    for await (const runs of pagesOf(store.agentRuns, { where: { status: 'waiting' }, order: 'oldest', limit: 200 })) {
      for (const run of runs) {
        if (this.#close.signal.aborted) return;
        const now = registry.server.now();
        const isOpen = await firstOpen(store, run.waitsFor, now);
        if (isOpen || this.#running.has(run.id)) continue;
        if (run.kind === 'invoke') {
          if (isLeft(run, now)) await this.#end(run.id, LEFT);
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
    await alone(store, `agent run ${id}`, async () => {
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
    const renewed = async () =>
      resumesAs
        ? standingOf(resumesAs, store, { catalog, now: now() })
        : new ToolError('unauthenticated', 'Nobody goes on with it.');
    const principal = await renewed();
    if (principal instanceof ToolError) return principal;
    const answer = await registry.call({
      principal,
      tool: 'send_chat_message',
      input: { threadId, continue: id },
      door,
      requestId: requestId ?? newId('req'),
      renewed,
      signal: this.#close.signal,
    });
    if (answer.ok || !isFinal(answer.error.code)) return undefined;
    return new ToolError(answer.error.code, answer.error.error);
  }

  /** Unless another run has taken over from it. */
  async #end(id: string, { code, message }: ToolError): Promise<void> {
    const { store, registry } = this.#options;
    await store.transaction(async (tx) => {
      if ((await tx.agentRuns.get(id))?.status !== 'waiting') return;
      const finishedAt = registry.server.now().toISOString();
      await tx.agentRuns.update(id, { status: 'failed', error: { code, message }, finishedAt });
    });
  }
}

/** The flow of such a run comes back for it, unless it has ended otherwise. */
function isLeft({ updatedAt }: AgentRunRecord, now: Date): boolean {
  return Date.parse(updatedAt) + LEFT_MS < now.getTime();
}

const LEFT_MS = 24 * 3_600_000;
const LEFT = new ToolError('conflict', 'The run waited for a person, and its flow did not come back for it.');

/** What the server lacked for a moment is tried again. */
function isFinal(code: ToolError['code']): boolean {
  return isStoredError(code) || code === 'unauthenticated' || code === 'rate_limited';
}
