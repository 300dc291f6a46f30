import { setTimeout as sleep } from 'node:timers/promises';
import { backoffMs } from '../backoff.ts';
import { OperatorError, StoreBusy, StoreUnavailable } from '../errors.ts';

/** Classes and codes of PostgreSQL's errors (appendix A of its manual) after which the same call can succeed later. */
const UNAVAILABLE = /^(08|53|55P03|57P|57014|25P03|58)/;
const LOST = /^(08|57P0[1235]|25P03)/;
/** `ECONNRESET`, `EAI_AGAIN`: codes of PostgreSQL begin with a digit, or with another letter. */
const OF_SYSTEM = /^E[A-Z_]{3,}$/;
const READ_ONLY = '25006';
/** What a hot standby refuses beside writes: serializable transactions, locks, tables that are not logged. */
const REFUSED_BY_STANDBY = /^(0A000|55000)$/;
const ANSWER_LATE = 'Query read timeout';
const LOCK_LATE = '55P03';
const SERIALIZATION_FAILURE = /^(40001|40P01)$/;
const UNIQUE = '23505';
/** The only check that tables have is that of partitions: there is none for the row. */
const PARTITION_MISSING = '23514';

export class Conflict extends Error {}

export class StoreReadOnly extends StoreBusy {
  constructor(options?: ErrorOptions) {
    super(
      'The database is read-only at present, so nothing was changed; reading goes on. Try again when the operator has made it writable.',
      options,
    );
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

export function asStoreError(cause: unknown, what: string): Error {
  if (cause instanceof StoreUnavailable) return cause;
  if (isReadOnlyFailure(cause)) return new StoreReadOnly({ cause });
  if (isConnectionLost(cause) || UNAVAILABLE.test(codeOf(cause))) {
    return new StoreUnavailable(`${what}: ${messageOf(cause)}`, { cause });
  }
  return cause instanceof Error ? cause : new Error(String(cause));
}

/** Whatever ends a connection at its beginning: a server whose disk is full may call that an internal error. */
export function asConnectError(cause: unknown): Error {
  const what = 'the database cannot be reached';
  const error = asStoreError(cause, what);
  const isKnown = error instanceof StoreUnavailable || isRefused(cause);
  return isKnown ? error : new StoreUnavailable(`${what}: ${messageOf(cause)}`, { cause });
}

/** An address, a password, a missing database or right. */
function isRefused(error: unknown): boolean {
  return /^(28|3D|42501)/.test(codeOf(error));
}

/** What keeps the store from being opened is for the operator to solve. */
export function asOpeningError(error: unknown): unknown {
  if (!isRefused(error) && !(error instanceof StoreUnavailable)) return error;
  return new OperatorError(`The database of DATABASE_URL cannot be used: ${messageOf(error)}.`, { cause: error });
}

/** Errors without a code of PostgreSQL come from the connection. */
export function isConnectionLost(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = codeOf(error);
  if (code === '') return /connection|timeout|client (was closed|has encountered)/i.test(error.message);
  return LOST.test(code) || OF_SYSTEM.test(code);
}

export function isReadOnlyFailure(error: unknown): boolean {
  const code = codeOf(error);
  return code === READ_ONLY || (REFUSED_BY_STANDBY.test(code) && /hot standby|recovery/.test(messageOf(error)));
}

export function isAnswerLate(error: unknown): boolean {
  return error instanceof Error && error.message === ANSWER_LATE;
}

export function isLockLate(error: unknown): boolean {
  return codeOf(error) === LOCK_LATE;
}

export function isConflict(error: unknown): boolean {
  return (
    error instanceof Conflict || isSerializationFailure(error) || isUniqueTaken(error) || isPartitionMissing(error)
  );
}

/** PostgreSQL itself refused the transaction because of another one. */
export function isSerializationFailure(error: unknown): boolean {
  return SERIALIZATION_FAILURE.test(codeOf(error));
}

export function isUniqueTaken(error: unknown): boolean {
  return codeOf(error) === UNIQUE;
}

export function isPartitionMissing(error: unknown): boolean {
  return codeOf(error) === PARTITION_MISSING;
}

/** Errors of a name with several addresses have an empty message. */
function messageOf(cause: unknown): string {
  if (cause instanceof AggregateError && cause.message === '') return messageOf(cause.errors[0]);
  return cause instanceof Error ? cause.message : String(cause);
}

const ATTEMPTS = 8;
const BACKOFF = { firstMs: 10, longestMs: 80 };

/** Runs a transaction again where another one was in its way. @throws StoreUnavailable after 8 attempts */
export async function withRetries<Result>(
  transaction: (attempt: number) => Promise<Result>,
  isRetried: (error: unknown) => boolean = isConflict,
): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await transaction(attempt);
    } catch (cause) {
      if (!isRetried(cause)) throw cause;
      if (attempt === ATTEMPTS) throw new StoreUnavailable('others kept changing the same records', { cause });
    }
    // Random, so that those that met each other do not meet again.
    await sleep(Math.random() * backoffMs(attempt - 1, BACKOFF));
  }
}
