import type { ErrorCode } from '../../../resources/error.ts';
import type { FlowStep } from '../../../resources/flow.ts';
import type { FlowRunRecord, FlowRunStep } from '../../../resources/flow-run.ts';
import type { ToolError } from '../../core/errors.ts';
import type { Answer } from '../../core/registry/call.ts';
import type { Tool } from '../../core/registry/define-tool.ts';

/** The longest time of one attempt at a step. */
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

export type StepOutcome = { readonly output: object } | { readonly failure: StepFailure };

export type End = Pick<FlowRunRecord, 'status' | 'error'>;

export const CANCELLED = {
  status: 'cancelled',
  error: { code: 'conflict', message: 'The run was cancelled.' },
} as const satisfies End;

/** The failure of a run whose principal may not continue. */
export function goneFailure({ code, message }: ToolError): StepFailure {
  return { code, message, final: true, ends: true };
}

export function outcomeOf(answer: Answer | 'late', tool: string, isRead: boolean): StepOutcome {
  if (answer === 'late') {
    const message = `${tool} took longer than ${STEP_MS / 60_000} minutes${isRead ? '' : '; it may still take effect'}.`;
    return { failure: { code: 'unavailable', message, final: !isRead } };
  }
  if (answer.ok) return { output: answer.output };
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
