import type { WebhookDeliveryRecord, WebhookRecord } from '../../resources/webhook.ts';
import type { Change } from '../../store/port.ts';
import type { Attempt, Failure } from './request.ts';

export const DAY_MS = 24 * 60 * 60 * 1000;
export const FIRST_PAUSE_MS = 5000;
export const LONGEST_PAUSE_MS = 15 * 60_000;
/** A time further ahead was written before the clock was set back. */
const FURTHEST_MS = 2 * 60 * 60_000;
/** Nothing is given up after fewer attempts, however far the clock jumps. */
export const FEWEST_ATTEMPTS = 10;

/** How long to wait after so many failures in a row: 5 s, 15 s, 45 s, and so on to 15 minutes, each a little more or less. */
function pauseMs(failures: number): number {
  const pause = Math.min(FIRST_PAUSE_MS * 3 ** (failures - 1), LONGEST_PAUSE_MS);
  return pause * (0.9 + Math.random() * 0.2);
}

/** Whether a time at which something is due has come. */
function hasCome(at: string | undefined, now: Date): boolean {
  const ahead = at === undefined ? 0 : Date.parse(at) - now.getTime();
  return ahead <= 0 || ahead > FURTHEST_MS;
}

export function isDue({ nextAt }: Pick<WebhookDeliveryRecord, 'nextAt'>, now: Date): boolean {
  return hasCome(nextAt, now);
}

/** Whether nothing is tried for now, because the receiver as a whole does not work. */
export function isPaused({ restsUntil }: Pick<WebhookRecord, 'restsUntil'>, now: Date): boolean {
  return !hasCome(restsUntil, now);
}

/** The delivery after an attempt. It is given up when attempts failed for a day. */
export function afterAttempt(
  { attempts: before, firstAttemptAt }: WebhookDeliveryRecord,
  attempt: Attempt,
  now: Date,
): Change<WebhookDeliveryRecord> {
  const attempts = before + 1;
  const at = now.toISOString();
  const first = firstAttemptAt ?? at;
  const tried = {
    attempts,
    firstAttemptAt: first,
    ...(attempt.status !== undefined && { lastStatus: attempt.status }),
  };
  if (attempt.ok) return { ...tried, status: 'delivered', deliveredAt: at, nextAt: null, lastError: null };
  const { error: lastError, afterMs = 0 } = attempt;
  if (hasFailedForADay(first, attempts, now)) return { ...tried, status: 'failed', nextAt: null, lastError };
  const nextAt = new Date(now.getTime() + Math.max(pauseMs(attempts), afterMs)).toISOString();
  return { ...tried, nextAt, lastError };
}

/** The state of the webhook after its attempts failed. */
export function afterFailure(webhook: WebhookRecord, { error, isAway, isGone, afterMs = 0 }: Failure, now: Date) {
  const failures = (webhook.failures ?? 0) + 1;
  const failingSince = webhook.failingSince ?? now.toISOString();
  const rest = Math.max(pauseMs(failures), afterMs);
  const restsUntil = isAway ? new Date(now.getTime() + rest).toISOString() : null;
  const kept: Change<WebhookRecord> = { failures, failingSince, restsUntil, lastError: error };
  const stopped = isGone
    ? error
    : hasFailedForADay(failingSince, failures, now)
      ? `It failed for a day. ${error}`
      : null;
  return { kept, stopped };
}

function hasFailedForADay(since: string, failures: number, now: Date): boolean {
  const elapsed = now.getTime() - Date.parse(since);
  return failures >= FEWEST_ATTEMPTS && (elapsed >= DAY_MS || elapsed < 0);
}
