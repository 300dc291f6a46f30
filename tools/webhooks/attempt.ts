import { Webhook as Signer } from 'standardwebhooks';
import { DAY_MS } from '../../resources/durations.ts';
import type { WebhookDeliveryRecord, WebhookRecord } from '../../resources/webhook.ts';
import type { Change } from '../../store/port.ts';
import { hasCome, notAhead } from '../clocks.ts';
import type { Fetch } from '../core/outbound/fetch.ts';
import { AddressRefused } from '../core/outbound/ip-addresses.ts';

/** The longest wait that a receiver may ask for by `Retry-After`. */
const LONGEST_WISH_MS = 3_600_000;

export type Attempt = { readonly ok: true; readonly status?: number } | Failure;

export interface Failure {
  readonly ok: false;
  readonly status?: number;
  readonly error: string;
  /** The receiver as a whole does not work, so other events would fail too. */
  readonly isAway: boolean;
  /** The receiver asks for nothing more, ever. */
  readonly isGone?: true;
  readonly afterMs?: number | undefined;
}

interface Signed {
  readonly url: string;
  readonly secrets: readonly string[];
  readonly version: string;
  readonly at: Date;
}

/** What is sent of an event: where to look, and no content. */
export function bodyOf({ event: { type, at, ...data } }: Pick<WebhookDeliveryRecord, 'event'>): string {
  return JSON.stringify({ type, timestamp: at, data });
}

interface Posting {
  readonly fetch: Fetch;
  readonly signal: AbortSignal;
  readonly answerMs: number;
}

export function post(
  delivery: Pick<WebhookDeliveryRecord, 'id' | 'event'>,
  signed: Signed,
  posting: Posting,
): Promise<Attempt> {
  return postSigned({ id: delivery.id, body: bodyOf(delivery) }, signed, posting);
}

/** Sends the message once, signed as Standard Webhooks says. Redirects are not followed, and no byte of a body is read. */
export async function postSigned(
  { id, body }: { readonly id: string; readonly body: string },
  { url, secrets, version, at }: Signed,
  { fetch, signal, answerMs }: Posting,
): Promise<Attempt> {
  const headers = {
    'Content-Type': 'application/json',
    'User-Agent': `agent-admin/${version}`,
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': secrets.map((secret) => new Signer(secret).sign(id, at, body)).join(' '),
  };
  const late = AbortSignal.timeout(answerMs);
  try {
    const answer = await fetch(url, { method: 'POST', headers, body, signal: AbortSignal.any([signal, late]) });
    await answer.body?.cancel();
    return attemptOf(answer.status, answer.headers.get('retry-after'), at);
  } catch (cause) {
    const error = late.aborted ? `It gave no answer within ${answerMs / 1000} s.` : wordsOf(cause);
    return { ok: false, error, isAway: true };
  }
}

const AWAY = new Set([429, 502, 503, 504]);

function attemptOf(status: number, retryAfter: string | null, now: Date): Attempt {
  if (status >= 200 && status < 300) return { ok: true, status };
  if (status === 410)
    return { ok: false, status, error: 'It answered 410: it wants no more deliveries.', isAway: true, isGone: true };
  const redirected = status >= 300 && status < 400 ? '; redirects are not followed, give the address it leads to' : '';
  const error = `It answered ${status}${redirected}.`;
  return { ok: false, status, error, isAway: AWAY.has(status), afterMs: retryAfterMs(retryAfter, now) };
}

/** How long the answer asks to wait, an hour at most. */
export function retryAfterMs(retryAfter: string | null, now: Date): number | undefined {
  if (retryAfter === null) return undefined;
  const ms = /^\d+$/.test(retryAfter) ? Number(retryAfter) * 1000 : Date.parse(retryAfter) - now.getTime();
  return ms > 0 ? Math.min(ms, LONGEST_WISH_MS) : undefined;
}

function wordsOf(cause: unknown): string {
  if (cause instanceof AddressRefused) return cause.message;
  const { code, message } = cause as NodeJS.ErrnoException; // of node:http
  return `It could not be reached: ${code ?? message}.`;
}

export const FIRST_PAUSE_MS = 5000;
export const LONGEST_PAUSE_MS = 15 * 60_000;
/** Nothing is given up after fewer attempts, however far the clock jumps. */
export const FEWEST_ATTEMPTS = 10;

/** How long to wait after so many failures in a row: 5 s, 15 s, 45 s, and so on to 15 minutes, each a little more or less. */
function pauseMs(failures: number): number {
  const pause = Math.min(FIRST_PAUSE_MS * 3 ** (failures - 1), LONGEST_PAUSE_MS);
  return pause * (0.9 + Math.random() * 0.2);
}

/** What was not tried yet is due, whatever the clock said when it happened. */
export function isDue(
  { attempts, nextAt, updatedAt }: Pick<WebhookDeliveryRecord, 'attempts' | 'nextAt' | 'updatedAt'>,
  now: Date,
): boolean {
  return attempts === 0 || hasCome(nextAt, updatedAt, now);
}

/** Whether nothing is tried for now, because the receiver as a whole does not work. */
export function isPaused(
  { restsSince, restsUntil }: Pick<WebhookRecord, 'restsSince' | 'restsUntil'>,
  now: Date,
): boolean {
  return !hasCome(restsUntil, restsSince, now);
}

/** The delivery after an attempt. It is given up when attempts failed for a day. */
export function afterAttempt(
  { attempts: before, firstAttemptAt }: WebhookDeliveryRecord,
  attempt: Attempt,
  now: Date,
): Change<WebhookDeliveryRecord> {
  const attempts = before + 1;
  const at = now.toISOString();
  const first = notAhead(firstAttemptAt, now);
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

export function afterFailure(webhook: WebhookRecord, { error, isAway, isGone, afterMs = 0 }: Failure, now: Date) {
  const failures = (webhook.failures ?? 0) + 1;
  const failingSince = notAhead(webhook.failingSince, now);
  const rest = Math.max(pauseMs(failures), afterMs);
  const rests = isAway
    ? { restsSince: now.toISOString(), restsUntil: new Date(now.getTime() + rest).toISOString() }
    : { restsSince: null, restsUntil: null };
  const kept: Change<WebhookRecord> = { failures, failingSince, ...rests, lastError: error };
  const stopped = isGone
    ? error
    : hasFailedForADay(failingSince, failures, now)
      ? `It failed for a day. ${error}`
      : null;
  return { kept, stopped };
}

function hasFailedForADay(since: string, failures: number, now: Date): boolean {
  return failures >= FEWEST_ATTEMPTS && now.getTime() - Date.parse(since) >= DAY_MS;
}
