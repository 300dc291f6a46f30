import type { ErrorCode } from '../../../resources/error.ts';
import type { FlowStep } from '../../../resources/flow.ts';
import type { FlowRunRecord, FlowRunStep } from '../../../resources/flow-run.ts';
import { backoffMs } from '../../../store/backoff.ts';
import { notAhead } from '../../clocks.ts';
import type { ToolError } from '../../core/errors.ts';
import { shownArguments } from '../../core/history/audit-entry.ts';
import { secretsIn } from '../../core/history/redact.ts';
import type { Answer } from '../../core/registry/call.ts';
import { retryDelayMs } from '../../core/registry/call.ts';
import type { Catalog } from '../../core/registry/catalog-index.ts';
import type { Tool } from '../../core/registry/define-tool.ts';
import type { TemplateScope } from '../render.ts';

export const STEP_MS = 10 * 60_000;

export interface StepFailure {
  readonly code: ErrorCode;
  readonly message: string;
  /** Another attempt could do the same thing twice. */
  readonly final?: boolean;
  /** Nothing was done, and the call may succeed later. */
  readonly unmade?: Extract<Answer, { ok: false }>;
  /** The run ends, whatever the step's `onError` says, because its principal may not continue. */
  readonly ends?: boolean;
}

export type StepOutcome =
  | { readonly output: object }
  | { readonly failure: StepFailure }
  | { readonly waitsFor: { readonly approvalId: string } };

export type End = Pick<FlowRunRecord, 'status' | 'error'>;

export const CANCELLED = {
  status: 'cancelled',
  error: { code: 'conflict', message: 'The run was cancelled.' },
} as const satisfies End;

export function goneFailure({ code, message }: ToolError): StepFailure {
  return { code, message, final: true, ends: true };
}

export function outcomeOf(answer: Answer | 'late', tool: string, isRead: boolean): StepOutcome {
  if (answer === 'late') {
    const message = `${tool} took longer than ${STEP_MS / 60_000} minutes${isRead ? '' : '; it may still take effect'}.`;
    return { failure: { code: 'unavailable', message, final: !isRead } };
  }
  if (answer.ok) return { output: answer.output };
  const { code, approvalId } = answer.error;
  if (code === 'approval_required' && approvalId !== undefined) return { waitsFor: { approvalId } };
  const unmade = answer.notMade && { unmade: answer };
  return { failure: { code: answer.error.code, message: wordsOf(answer.error), ...unmade } };
}

/** The failure with which a step that ended in an earlier process stops the run. */
export function storedFailure({ onError }: FlowStep, { status, error }: FlowRunStep): StepFailure | undefined {
  if (status !== 'failed' || onError === 'continue') return undefined;
  return { code: error?.code ?? 'internal', message: error?.message ?? 'The step failed.' };
}

export function inStep({ id }: FlowStep, { code, message }: StepFailure) {
  return { code, message: `Step ${id}: ${message}` };
}

function wordsOf({
  error,
  issues,
}: {
  readonly error: string;
  readonly issues?: readonly { message: string }[] | undefined;
}) {
  const more = issues?.[0] && !error.includes(issues[0].message) ? ` ${issues[0].message}` : '';
  return `${error}${more}`.slice(0, 2000);
}

/** The step after a change. The error and retry time of an earlier attempt are removed. */
export function changed({ error, retryAt: _, ...step }: FlowRunStep, change: Partial<FlowRunStep>): FlowRunStep {
  const next = { ...step, ...change };
  const keeps = error && (next.status === 'pending' || next.status === 'running');
  return keeps ? { error, ...next } : next;
}

/** For this long, the stored answer of an interrupted write makes it safe to repeat. */
const REPEATABLE_MS = 23 * 60 * 60 * 1000;

/** Why a step that an earlier process began cannot be repeated. Undefined if it can. */
export function repeatProblem(name: string, tool: Tool | undefined, ageMs: number): StepFailure | undefined {
  if (tool?.annotations.readOnlyHint || tool?.resumes) return undefined;
  // A call in one transaction is stored with its answer. So a repeat finds the answer, or finds that the call was not made.
  if (tool && !tool.inSteps && !tool.delegatesTo && ageMs < REPEATABLE_MS) return undefined;
  const message = `The server ended while ${name} was called; whether it took effect is not known, so it was not called again.`;
  return { code: 'unavailable', message };
}

/** The largest stored output of a step, and of all steps of a run, in characters of JSON. */
export const LARGEST_OUTPUT = 256 * 1024;
export const LARGEST_RUN = 2 * 1024 * 1024;

/** Why the output is not stored with those of the other steps. Undefined if it is. */
export function sizeProblem(tool: string, output: object, steps: readonly FlowRunStep[]): StepFailure | undefined {
  const length = JSON.stringify(output).length;
  const others = steps.reduce((sum, { output: kept }) => sum + (kept ? JSON.stringify(kept).length : 0), 0);
  if (length <= LARGEST_OUTPUT && length + others <= LARGEST_RUN) return undefined;
  const message = `${tool} was called; its answer of ${length} characters is more than a run keeps. Ask for less, for example with limit.`;
  return { code: 'too_large', message };
}

type UnderWay = FlowRunRecord['underWay'];

interface FailedAttempt {
  readonly attempt: number;
  readonly underWay: UnderWay;
  readonly now: Date;
}

interface NextAttempt {
  readonly attempt: number;
  readonly change: Partial<FlowRunStep> & { readonly retryAt: string };
  readonly underWay: UnderWay;
}

/** The attempt after a failed one: always if nothing was done, otherwise as often as the step allows. Undefined if there is none. */
export function nextAttempt(step: FlowStep, failure: StepFailure, tried: FailedAttempt): NextAttempt | undefined {
  const { attempt, underWay, now } = tried;
  const { code, message } = failure;
  const after = (ms: number, tries: number) => {
    const retryAt = new Date(now.getTime() + ms).toISOString();
    return { status: 'pending', error: { code, message }, attempts: tries, retryAt } as const;
  };
  const again = retryUnmadeCall(failure, tried);
  if (again) return { attempt, change: after(again.delay, attempt - 1), underWay: again.underWay };
  if (attempt >= step.retry.attempts || !isWorthRetrying(failure)) return undefined;
  const kept = mayHaveTakenEffect(failure) && underWay ? { ...underWay, unmade: undefined } : undefined;
  return { attempt: attempt + 1, change: after(retryDelay(step, attempt), attempt), underWay: kept };
}

function retryUnmadeCall({ unmade: answer }: StepFailure, { attempt, underWay, now }: FailedAttempt) {
  if (!answer || !underWay) return undefined;
  const { count = 0 } = underWay.unmade ?? {};
  const since = notAhead(underWay.unmade?.since, now);
  const sinceMs = now.getTime() - Date.parse(since);
  const delay = retryDelayMs(answer, { count, sinceMs, withinMs: STEP_MS });
  if (delay === undefined) return undefined;
  return { delay, underWay: { ...underWay, first: underWay.first ?? attempt, unmade: { count: count + 1, since } } };
}

/** Whether another attempt can help. An error in the call itself would happen again. */
function isWorthRetrying({ code, final }: StepFailure): boolean {
  if (final) return false;
  return code === 'unavailable' || code === 'internal' || code === 'rate_limited' || code === 'conflict';
}

/** Whether the call may have been made, its answer lost. The next attempt then repeats it under the same key; after other failures it is new. */
function mayHaveTakenEffect({ code }: StepFailure): boolean {
  return code === 'unavailable' || code === 'internal';
}

const LONGEST_DELAY_MS = 3_600_000;

function retryDelay({ retry }: FlowStep, attempt: number): number {
  return backoffMs(attempt - 1, { firstMs: retry.delayMs, longestMs: LONGEST_DELAY_MS });
}

const LONGEST_SHOWN = 16 * 1024;

interface StoredInput {
  readonly shown: Record<string, unknown>;
  /** For a repeat of the call. An input with a secret is not stored; it is made again from the outputs of earlier steps. */
  readonly stored?: Record<string, unknown>;
}

export function storedInput(tool: Tool | undefined, input: Record<string, unknown>, catalog: Catalog): StoredInput {
  if (!tool) return { shown: {}, stored: input };
  const shown = shownArguments(tool, input, { tools: catalog, longest: LONGEST_SHOWN });
  return secretsIn(tool, input, catalog).length === 0 ? { shown, stored: input } : { shown };
}

export function scopeOf({ input = {}, steps }: Pick<FlowRunRecord, 'input' | 'steps'>): TemplateScope {
  const ended = steps.filter(({ status }) => status === 'succeeded' || status === 'failed' || status === 'skipped');
  return { input, steps: Object.fromEntries(ended.map(({ id, output }) => [id, { output: output ?? null }])) };
}
