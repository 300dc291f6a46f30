import type { ErrorCode } from '../../../resources/error.ts';
import type { FlowStep } from '../../../resources/flow.ts';
import type { FlowRunStep } from '../../../resources/flow-run.ts';
import type { Answer } from '../../registry/call.ts';
import type { Tool } from '../../registry/define-tool.ts';
import type { ToolError } from '../../registry/errors.ts';

/** How long one try of a step may take. */
export const STEP_MS = 10 * 60_000;

export interface Failure {
  readonly code: ErrorCode;
  readonly message: string;
  /** Another try could do twice what the call does. */
  readonly final?: boolean;
  /** The run ends, whatever the step says: whom it acts for may not go on. */
  readonly ends?: boolean;
}

export type Outcome = { readonly output: object } | { readonly failure: Failure };

/** What is wrong with the call itself is wrong the next time too. */
export function isWorthRetrying({ code, final }: Failure): boolean {
  if (final) return false;
  return code === 'unavailable' || code === 'internal' || code === 'rate_limited' || code === 'conflict';
}

/** Whom the run acts for may not go on. */
export function goneFailure({ code, message }: ToolError): Failure {
  return { code, message, final: true, ends: true };
}

export function outcomeOf(answer: Answer | 'late', tool: string, isRead: boolean): Outcome {
  if (answer === 'late') {
    const message = `${tool} took longer than ${STEP_MS / 60_000} minutes${isRead ? '' : '; it may take effect still'}.`;
    return { failure: { code: 'unavailable', message, final: !isRead } };
  }
  if (answer.ok) return { output: answer.output };
  return { failure: { code: answer.error.code, message: wordsOf(answer.error) } };
}

export function inStep({ id }: FlowStep, { code, message }: Failure) {
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

/** The error of an earlier try goes when the next one is well, and the time of a try with it. */
export function changed({ error, retryAt: _, ...step }: FlowRunStep, change: Partial<FlowRunStep>): FlowRunStep {
  const next = { ...step, ...change };
  const keeps = error && (next.status === 'pending' || next.status === 'running');
  return keeps ? { error, ...next } : next;
}

/** Kept answers make a write that was interrupted safe to repeat this long. */
const REPEATABLE_MS = 23 * 60 * 60 * 1000;

/** Why a step that an earlier process was in the middle of cannot be made again, or undefined where it can. */
export function repeatProblem(name: string, tool: Tool | undefined, ageMs: number): Failure | undefined {
  if (tool?.annotations.readOnlyHint || tool?.resumes) return undefined;
  // What runs in one transaction is kept with its answer: a repeat finds it, or finds that it was not made.
  if (tool && !tool.inSteps && !tool.standsFor && ageMs < REPEATABLE_MS) return undefined;
  const message = `The server ended while ${name} was called; whether it took effect is not known, so it was not called again.`;
  return { code: 'unavailable', message };
}

/** Largest answer that is kept of a step, and largest sum of a run, in characters of JSON. */
const LARGEST_OUTPUT = 256 * 1024;
const LARGEST_RUN = 2 * 1024 * 1024;

/** Why the answer is not kept beside those of the other steps, or undefined where it is. */
export function sizeProblem(tool: string, output: object, steps: readonly FlowRunStep[]): Failure | undefined {
  const length = JSON.stringify(output).length;
  const others = steps.reduce((sum, { output: kept }) => sum + (kept ? JSON.stringify(kept).length : 0), 0);
  if (length <= LARGEST_OUTPUT && length + others <= LARGEST_RUN) return undefined;
  const message = `${tool} was called; its answer of ${length} characters is more than a run keeps. Ask for less, for example with limit.`;
  return { code: 'too_large', message };
}
