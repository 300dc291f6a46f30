import { OperatorError, StoreBusy, StoreUnavailable } from '../errors.ts';

/** Classes and codes of PostgreSQL's errors (appendix A of its manual) after which the same call can succeed later. */
const UNAVAILABLE = /^(08|53|55P03|57P|57014|25P03|58)/;
/** After these the connection is of no use. */
const LOST = /^(08|57P0[1235]|25P03)/;
/** A write in a database that takes none. */
const READ_ONLY = '25006';
/** What a hot standby refuses beside writes: serializable transactions, locks, tables that are not logged. */
const REFUSED_BY_STANDBY = /^(0A000|55000)$/;
/** What `pg` says where no answer came in time. */
const ANSWER_LATE = 'Query read timeout';
/** `lock_not_available`: not within the time that was set for it. */
const LOCK_LATE = '55P03';
/** Another transaction was faster: `serialization_failure`, `deadlock_detected`. */
const SERIALIZATION_FAILURE = /^(40001|40P01)$/;
const UNIQUE = '23505';
/** The only check that tables have is that of partitions: there is none for the row. */
const PARTITION_MISSING = '23514';

/** Another transaction was faster, as a statement showed that PostgreSQL itself let pass. */
export class Conflict extends Error {}

/** The database takes no writes, because it is a replica or was set so. */
export class StoreReadOnly extends StoreBusy {
  constructor(options?: ErrorOptions) {
    super(
      'The database is read-only at present, so nothing was changed; reading goes on. Try again when the operator has made it writable.',
      options,
    );
  }
}

/** The code of an error of PostgreSQL or of the system. */
function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

/** The error as callers of the store know it: what the database cannot do now is StoreUnavailable, other errors stay. */
export function asStoreError(cause: unknown, what: string): Error {
  if (cause instanceof StoreUnavailable) return cause;
  if (isReadOnlyFailure(cause)) return new StoreReadOnly({ cause });
  if (isConnectionLost(cause) || UNAVAILABLE.test(codeOf(cause))) {
    return new StoreUnavailable(`${what}: ${messageOf(cause)}`, { cause });
  }
  return cause instanceof Error ? cause : new Error(String(cause));
}

/** What keeps the store from being opened is for the operator to solve: an address, a password, a missing database or right. */
export function asOpeningError(error: unknown): unknown {
  const isRefused = /^(28|3D|42501)/.test(codeOf(error));
  if (!isRefused && !(error instanceof StoreUnavailable)) return error;
  return new OperatorError(`The database of DATABASE_URL cannot be used: ${messageOf(error)}.`, { cause: error });
}

/** Errors without a code of PostgreSQL come from the connection. */
export function isConnectionLost(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = codeOf(error);
  if (code === '') return /connection|timeout|client (was closed|has encountered)/i.test(error.message);
  return LOST.test(code) || /^E[A-Z]{3,}/.test(code);
}

export function isReadOnlyFailure(error: unknown): boolean {
  const code = codeOf(error);
  return code === READ_ONLY || (REFUSED_BY_STANDBY.test(code) && /hot standby|recovery/.test(messageOf(error)));
}

/** The connection was silent for too long. */
export function isAnswerLate(error: unknown): boolean {
  return error instanceof Error && error.message === ANSWER_LATE;
}

/** Others had the lock for longer than was to be waited. */
export function isLockLate(error: unknown): boolean {
  return codeOf(error) === LOCK_LATE;
}

/** The transaction had no effect and succeeds when it runs again. */
export function isConflict(error: unknown): boolean {
  return (
    error instanceof Conflict || isSerializationFailure(error) || isUniqueTaken(error) || isPartitionMissing(error)
  );
}

/** PostgreSQL itself refused the transaction because of another one. */
export function isSerializationFailure(error: unknown): boolean {
  return SERIALIZATION_FAILURE.test(codeOf(error));
}

/** Another record has the value of a unique column. */
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
