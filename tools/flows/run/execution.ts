import type { Flow, FlowStep } from '../../../resources/flow.ts';
import type { FlowRunRecord, FlowRunStep } from '../../../resources/flow-run.ts';
import type { Store } from '../../../store/port.ts';
import { hasCome } from '../../clocks.ts';
import { CredentialSignal, type CredentialStatus } from '../../core/access/credential-status.ts';
import type { Principal } from '../../core/access/principal.ts';
import { ToolError } from '../../core/errors.ts';
import type { Answer } from '../../core/registry/call.ts';
import { idsIn } from '../../core/registry/idempotency.ts';
import type { Registry } from '../../core/registry/registry.ts';
import { actingFlow, findRunAs } from '../run-as.ts';
import { requireFilled } from '../step-arguments.ts';
import { EvaluationTimeUsedUp, TemplateEvaluator } from '../template-evaluator.ts';
import { ownRun } from './claim-run.ts';
import { type Clock, pause } from './clock.ts';
import {
  CANCELLED,
  changed,
  type End,
  goneFailure,
  inStep,
  nextAttempt,
  outcomeOf,
  repeatProblem,
  STEP_MS,
  type StepFailure,
  type StepOutcome,
  scopeOf,
  sizeProblem,
  storedFailure,
  storedInput,
} from './outcome.ts';
import type { RunSlot } from './run-slots.ts';
import { cancelWaiting, lapsed, waitedFor } from './waiting-runs.ts';

export interface ExecutionDeps {
  readonly store: Store;
  readonly registry: Registry;
  readonly clock: Clock;
}

interface ExecutionInput {
  readonly flow: Pick<Flow, 'id' | 'name'>;
  /** The stored run with its plan. An earlier process may have begun it. */
  readonly run: FlowRunRecord;
  /** The run takes its slot before each attempt, and leaves it while it waits. */
  readonly slot: RunSlot;
}

interface Tried {
  readonly step: string;
  readonly attempt: number;
  readonly outcome: StepOutcome;
}
type Arguments = Record<string, unknown>;

const UNFINISHED: readonly FlowRunStep['status'][] = ['pending', 'running', 'waiting'];

/** One run of a flow under way. Its steps run one after the other, and each is stored before and after it runs. */
export class FlowExecution {
  readonly #deps: ExecutionDeps;
  readonly #flow: Pick<Flow, 'id' | 'name'>;
  readonly #cancel = new AbortController();
  readonly #leave = new AbortController();
  readonly #abandon = new AbortController();
  readonly #either = AbortSignal.any([this.#cancel.signal, this.#leave.signal]);
  readonly #slot: RunSlot;
  readonly #filling: TemplateEvaluator;
  #run: FlowRunRecord;
  /** The last attempt, which may not be stored yet. */
  #tried: Tried | undefined;

  constructor(deps: ExecutionDeps, { flow, run, slot }: ExecutionInput) {
    this.#deps = deps;
    this.#flow = flow;
    this.#run = run;
    this.#filling = new TemplateEvaluator(run.runAs.id);
    this.#slot = slot;
  }

  /** Ends the run before its next step, and also the current call where that is possible. */
  cancel(): void {
    this.#cancel.abort();
  }

  /** Stops after the current call and leaves the remaining steps to the next process. */
  leave(): void {
    this.#leave.abort();
  }

  /** Stops waiting for the current call. Called after `leave`. */
  abandon(): void {
    this.#abandon.abort();
  }

  /** Resolves at the end with the error's code, or when the rest is left to the next process. Rejects if the store fails; call it again then. */
  async finish(): Promise<string | undefined> {
    for (const step of this.#run.plan) {
      if (this.#isCancelled) return this.#end(CANCELLED);
      if (this.#leave.signal.aborted) return undefined;
      const failure = await this.#step(step);
      if (failure === 'left') return undefined;
      if (failure) return this.#end(this.#isCancelled ? CANCELLED : { status: 'failed', error: inStep(step, failure) });
    }
    return this.#end({ status: 'succeeded' });
  }

  get #isCancelled(): boolean {
    return this.#cancel.signal.aborted || this.#run.cancelAsked === true;
  }

  async #step(step: FlowStep): Promise<StepFailure | 'left' | undefined> {
    const kept = this.#kept(step.id);
    if (!UNFINISHED.includes(kept.status)) return storedFailure(step, kept);
    const stopped = await this.#rest(kept.retryAt, this.#run.updatedAt);
    if (stopped) return stopped;
    const interrupted = kept.status === 'pending' ? undefined : kept;
    const isOpen = kept.status === 'running' && this.#tried?.step !== step.id && !this.#approval(step);
    const problem = isOpen && this.#repeatProblem(step, kept);
    if (problem) return this.#fail(step, problem);
    const attempt = interrupted ? kept.attempts : kept.attempts + 1;
    let input = this.#underWay(step)?.arguments;
    if (input) return this.#try(step, input, attempt);
    try {
      const scope = scopeOf(this.#run);
      if (step.when !== undefined && !(await this.#filling.holds(step.when, scope))) {
        await this.#keep(step.id, { status: 'skipped', finishedAt: this.#now() });
        return undefined;
      }
      input = (await this.#filling.render(step.arguments, scope)) as Arguments; // a record renders to a record
      const tool = this.#deps.registry.server.catalog.get(step.tool)?.tool;
      if (tool) requireFilled(tool, step, input);
    } catch (thrown) {
      const message = thrown instanceof Error ? thrown.message : 'The arguments cannot be made.';
      const failure = await this.#fail(step, { code: 'invalid_input', message });
      return thrown instanceof EvaluationTimeUsedUp ? failure : this.#continues(step, failure);
    }
    return this.#try(step, input, attempt);
  }

  async #try(step: FlowStep, input: Arguments, first: number): Promise<StepFailure | 'left' | undefined> {
    for (let attempt = first; ; ) {
      const outcome = await this.#attempt(step, input, attempt);
      if (outcome === 'left') return outcome;
      if ('waitsFor' in outcome) return this.#wait(step, outcome.waitsFor.approvalId);
      if ('output' in outcome) {
        const failure = await this.#succeed(step, outcome.output);
        return failure && this.#continues(step, failure);
      }
      const { failure } = outcome;
      const tried = { attempt, underWay: this.#underWay(step), now: this.#deps.clock.now() };
      const next = this.#isCancelled ? undefined : nextAttempt(step, failure, tried);
      if (!next) return this.#continues(step, await this.#fail(step, failure));
      await this.#keep(step.id, next.change, next.underWay);
      this.#tried = undefined;
      const stopped = await this.#rest(next.change.retryAt, this.#now());
      if (stopped) return stopped;
      attempt = next.attempt;
    }
  }

  /** Waits without a slot until the time, or until the principal may not continue; then takes a slot. Returns why the run stops, if it does. */
  async #rest(until: string | undefined, since: string | undefined): Promise<StepFailure | 'left' | undefined> {
    const { clock } = this.#deps;
    const now = clock.now();
    if (until !== undefined && !hasCome(until, since, now)) {
      const ms = Date.parse(until) - now.getTime();
      this.#slot.leave();
      const watch = new CredentialSignal(() => this.#checkCredential(), this.#either);
      await pause(clock, ms, watch.signal);
      watch.stop();
    }
    await this.#slot.take(this.#either);
    if (this.#isCancelled) return CANCELLED.error;
    return this.#leave.signal.aborted ? 'left' : undefined;
  }

  async #checkCredential(attempt?: string): Promise<CredentialStatus> {
    const { store, registry, clock } = this.#deps;
    const { id: runId, causes, askedBy } = this.#run;
    const { catalog } = registry.server;
    const runAs = await findRunAs(this.#run.runAs, store, { catalog, now: clock.now() });
    if (typeof runAs === 'string') return new ToolError('forbidden', runAs);
    return actingFlow(this.#flow, runAs, { causes, runId, attempt, askedBy });
  }

  async #attempt(step: FlowStep, input: Arguments, attempt: number): Promise<StepOutcome | 'left'> {
    if (this.#tried?.step === step.id && this.#tried.attempt === attempt) return this.#tried.outcome;
    const { first = attempt, unmade, approval } = this.#underWay(step) ?? {};
    const key = `${this.#run.id} ${step.id} ${first}`;
    const principal = await this.#checkCredential(key);
    if (principal instanceof ToolError) return { failure: goneFailure(principal) };
    const { catalog } = this.#deps.registry.server;
    const tool = catalog.get(step.tool)?.tool;
    const { shown, stored } = storedInput(tool, input, catalog);
    const begun = { status: 'running', attempts: attempt, input: shown, startedAt: this.#now() } as const;
    await this.#keep(step.id, begun, { step: step.id, first, unmade, approval, ...(stored && { arguments: stored }) });
    if (this.#run.cancelAsked) return { failure: CANCELLED.error };
    const late =
      approval && (await lapsed(this.#deps.store, approval, { tool: step.tool, now: this.#deps.clock.now() }));
    if (late) return { failure: late };
    const answer = await this.#call(principal, step, input, key);
    if (answer === 'left') return answer;
    const waits = answer !== 'late' && !answer.ok && answer.error.code === 'approval_required';
    if (tool?.resumes && this.#leave.signal.aborted && answer !== 'late' && !answer.ok && !waits) return 'left';
    const standing = await this.#checkCredential();
    const outcome =
      standing instanceof ToolError && (answer === 'late' || !answer.ok)
        ? { failure: goneFailure(standing) }
        : outcomeOf(answer, step.tool, tool?.annotations.readOnlyHint === true);
    this.#tried = { step: step.id, attempt, outcome };
    return outcome;
  }

  async #call(principal: Principal, step: FlowStep, input: Arguments, key: string): Promise<Answer | 'late' | 'left'> {
    const { tool, approval: asks } = step;
    const late = new AbortController();
    const signal = AbortSignal.any([this.#cancel.signal, this.#abandon.signal, late.signal]);
    const { clock, registry } = this.#deps;
    const call = registry.call({
      principal,
      checkCredential: () => this.#checkCredential(key),
      tool,
      input,
      door: 'flow',
      requestId: this.#run.id,
      idempotency: { key, operation: `flow step ${tool}` },
      needsApproval: asks,
      approvalId: this.#approval(step)?.id,
      signal,
    });
    const ended = new AbortController();
    const either = AbortSignal.any([ended.signal, this.#abandon.signal]);
    const waited = pause(clock, STEP_MS, either).then(() => (this.#abandon.signal.aborted ? 'left' : 'late'));
    const answer = await Promise.race([call, waited]);
    ended.abort();
    if (answer === 'late') late.abort();
    return answer;
  }

  #repeatProblem({ tool: name }: FlowStep, { startedAt }: FlowRunStep): StepFailure | undefined {
    const { registry, clock } = this.#deps;
    const age = clock.now().getTime() - Date.parse(startedAt ?? '');
    return repeatProblem(name, registry.server.catalog.get(name)?.tool, age);
  }

  /** Leaves the run as one that waits. Whoever finds that the approval was decided goes on with it. */
  async #wait(step: FlowStep, approvalId: string): Promise<StepFailure | 'left'> {
    const { store, clock } = this.#deps;
    const approval = await waitedFor(store, this.#run, { tool: step.tool, approvalId });
    const underWay = { step: step.id, ...this.#underWay(step), approval };
    await this.#keep(step.id, { status: 'waiting', approvalId }, underWay, { status: 'waiting' });
    if (!this.#isCancelled) return 'left';
    await store.transaction(async (tx) => cancelWaiting(tx, await ownRun(tx, this.#run), clock.now()));
    return 'left';
  }

  /** Whether the run was left because it waits for a person. */
  get isWaiting(): boolean {
    return this.#run.status === 'waiting';
  }

  /** The approval that the call of the step itself needs. */
  #approval(step: FlowStep) {
    const { approval } = this.#underWay(step) ?? {};
    return approval?.inside ? undefined : approval;
  }

  async #succeed(step: FlowStep, output: object): Promise<StepFailure | undefined> {
    const problem = sizeProblem(step.tool, output, this.#run.steps);
    if (problem) return this.#fail(step, problem);
    await this.#keep(step.id, { status: 'succeeded', output: output as Arguments, finishedAt: this.#now() });
    return undefined;
  }

  async #fail(step: FlowStep, failure: StepFailure): Promise<StepFailure> {
    const { code, message } = failure;
    await this.#keep(step.id, { status: 'failed', error: { code, message }, finishedAt: this.#now() });
    return failure;
  }

  #continues({ onError }: FlowStep, failure: StepFailure): StepFailure | undefined {
    return onError === 'continue' && !failure.ends && !this.#isCancelled ? undefined : failure;
  }

  #kept(id: string): FlowRunStep {
    const found = this.#run.steps.find((step) => step.id === id);
    if (!found) throw new Error(`The run ${this.#run.id} has no step ${id}.`);
    return found;
  }

  #underWay({ id }: FlowStep): FlowRunRecord['underWay'] {
    return this.#run.underWay?.step === id ? this.#run.underWay : undefined;
  }

  async #keep(
    id: string,
    change: Partial<FlowRunStep>,
    underWay?: FlowRunRecord['underWay'],
    run: Pick<Partial<FlowRunRecord>, 'status'> = {},
  ): Promise<void> {
    this.#run = await this.#deps.store.transaction(async (tx) => {
      // A purge may have removed outputs since.
      const current = await ownRun(tx, this.#run);
      const steps = current.steps.map((step) => (step.id === id ? changed(step, change) : step));
      const recordIds = change.output
        ? [...new Set([...(current.recordIds ?? []), ...idsIn(change.output)])]
        : undefined;
      return tx.flowRuns.update(current.id, { ...run, steps, underWay: underWay ?? null, recordIds });
    });
  }

  async #end(end: End): Promise<string | undefined> {
    const change = { ...end, finishedAt: this.#now(), underWay: null };
    this.#run = await this.#deps.store.transaction(async (tx) => {
      const { id } = await ownRun(tx, this.#run);
      return tx.flowRuns.update(id, change);
    });
    return end.error?.code;
  }

  #now(): string {
    return this.#deps.clock.now().toISOString();
  }
}
