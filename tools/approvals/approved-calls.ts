import type { ApprovalRecord } from '../../resources/approval.ts';
import type { ErrorCode } from '../../resources/error.ts';
import { type PeriodicTask, startLeaderTask, startPeriodicTask } from '../../store/periodic-task.ts';
import type { Store } from '../../store/port.ts';
import { whileHolding } from '../../store/while-holding.ts';
import { credentialStatusOrError } from '../core/access/credential-status.ts';
import { ToolError } from '../core/errors.ts';
import { ENDS, isExpired, openSealed } from '../core/registry/approvals.ts';
import { allOf } from '../core/registry/paging.ts';
import type { Registry } from '../core/registry/registry.ts';

const LOOK_EVERY_MS = 5000;
const EXPIRE_EVERY_MS = 60_000;
/** Approvals that expire in one transaction. */
const BATCH = 100;

/** Why a call did not begin. Other errors are kept as its answer, or it is tried again. */
const ENDING: readonly ErrorCode[] = ['forbidden', 'not_found', 'invalid_input', 'unauthenticated'];

interface Options {
  readonly store: Store;
  readonly registry: Registry;
  onFailure(cause: unknown): void;
}

/** Runs approved calls: as soon as they are, and those that another process or an earlier start left. */
export class ApprovedCalls {
  readonly #options: Options;
  readonly #running = new Map<string, Promise<void>>();
  #stop: (() => void) | undefined;
  #looking: readonly PeriodicTask[] = [];

  constructor(options: Options) {
    this.#options = options;
  }

  start(): this {
    const { store, onFailure } = this.#options;
    this.#stop = store.onCommit(
      ({ changes }) => {
        for (const { record } of changes) if (record.status === 'approved') void this.#begin(record.id);
      },
      ['approvals'],
    );
    this.#looking = [
      startPeriodicTask(() => this.look(), onFailure, LOOK_EVERY_MS),
      startLeaderTask(store.jobs, () => this.expire(), { onFailure, everyMs: EXPIRE_EVERY_MS }),
    ];
    return this;
  }

  /** Runs all that are approved, and resolves when they have. */
  async look(): Promise<void> {
    const due = await allOf(this.#options.store.approvals, { where: { status: ['approved', 'running'] } });
    await Promise.all(due.map(({ id }) => this.#begin(id)));
  }

  /** Keeps as expired what nobody decided, or nobody ran, in time. */
  async expire(): Promise<void> {
    const { store, registry } = this.#options;
    const now = registry.server.now();
    const open = await allOf(store.approvals, { where: { status: ['waiting', 'approved'] } });
    const late = open.filter((record) => isExpired(record, now));
    for (let at = 0; at < late.length; at += BATCH) {
      await store.transaction(async (tx) => {
        for (const { id } of late.slice(at, at + BATCH)) {
          const found = await tx.approvals.get(id);
          if (found && isExpired(found, now)) await tx.approvals.update(id, { status: 'expired', ...ENDS });
        }
      });
    }
  }

  async close(): Promise<void> {
    this.#stop?.();
    await Promise.all(this.#looking.map((each) => each.close()));
    await Promise.all(this.#running.values());
  }

  #begin(id: string): Promise<void> {
    const running = this.#running.get(id);
    if (running) return running;
    const run = this.#run(id)
      .catch(this.#options.onFailure)
      .finally(() => this.#running.delete(id));
    this.#running.set(id, run);
    return run;
  }

  async #run(id: string): Promise<void> {
    const { store, registry } = this.#options;
    await whileHolding(store, `approval ${id}`, async () => {
      const record = await store.approvals.get(id);
      const isDue = record && !record.repeats && (record.status === 'approved' || record.status === 'running');
      if (isDue && !isExpired(record, registry.server.now())) await this.#make(record);
    });
  }

  /** Makes the call as its caller stands now. */
  async #make(record: ApprovalRecord): Promise<void> {
    const { store, registry } = this.#options;
    const { server } = registry;
    const checkCredential = () =>
      credentialStatusOrError(record.runAs, store, { catalog: server.catalog, now: server.now() });
    const principal = await checkCredential();
    if (principal instanceof ToolError) return this.#end(record.id, principal.message);
    const { id: approvalId, tool, door, requestId } = record;
    const { raw: input } = openSealed(record, server);
    const answer = await registry.call({
      principal,
      tool,
      input,
      door: door as never, // one of the doors, as the gate wrote it
      requestId,
      approvalId,
      checkCredential,
    });
    if (!answer.ok && ENDING.includes(answer.error.code)) await this.#end(approvalId, answer.error.error);
  }

  /** Only what never began ends so: an approval that ran says so itself. */
  async #end(id: string, problem: string): Promise<void> {
    await this.#options.store.transaction(async (tx) => {
      const found = await tx.approvals.get(id);
      if (found?.status === 'approved') await tx.approvals.update(id, { status: 'failed', problem, slot: id, ...ENDS });
    });
  }
}
