import type { FlowStep } from '../../../resources/flow.ts';
import type { FlowRunRecord, FlowRunStep } from '../../../resources/flow-run.ts';
import { backoffMs } from '../../../store/backoff.ts';
import { retryDelayMs } from '../../core/registry/call.ts';
import { STEP_MS, type StepFailure } from './outcome.ts';

type UnderWay = FlowRunRecord['underWay'];

interface FailedAttempt {
  readonly attempt: number;
  readonly underWay: UnderWay;
  readonly now: Date;
}

interface NextAttempt {
  readonly attempt: number;
  /** Of the step while it waits. */
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
  const { count, since } = underWay.unmade ?? { count: 0, since: now.toISOString() };
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

/**
 * Whether the call may have been made nevertheless, as its answer can get lost on the way from the database. The next attempt then repeats it
 * under the same key, and gets the answer that was kept. Other failures are kept as the answer, so the next attempt is a new call.
 */
function mayHaveTakenEffect({ code }: StepFailure): boolean {
  return code === 'unavailable' || code === 'internal';
}

const LONGEST_DELAY_MS = 3_600_000;

/** How long to wait after this failed attempt. */
function retryDelay({ retry }: FlowStep, attempt: number): number {
  return backoffMs(attempt - 1, { firstMs: retry.delayMs, longestMs: LONGEST_DELAY_MS });
}
