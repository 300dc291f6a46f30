import { createHash, createHmac } from 'node:crypto';
import { canonicalize } from 'json-canonicalize';
import { DAY_MS } from '../../../resources/durations.ts';
import { type ErrorBody, type ErrorCode, errorStatus } from '../../../resources/error.ts';
import type { Readers, Store, Transaction, Writers } from '../../../store/port.ts';
import type { Principal } from '../access/principal.ts';
import { guardedAmong, isSeen } from '../access/visibility.ts';
import { errorBodyOf, ToolError, toToolError } from '../errors.ts';
import type { Call, IdempotencyRequest } from './call.ts';

/** For so long a repeat gets the answer of the first call. */
export const ANSWER_RETENTION_MS = DAY_MS;
const IDS = /\b[a-z]{3}_[0-9a-z]{26}\b/g;

export type StoredAnswer = { readonly output: object } | { readonly error: ErrorBody };

export interface IdempotentCall {
  readonly key: string;
  /** Tells the input from others. */
  readonly inputHash: string;
  readonly principal: Principal;
  readonly requestId: string;
  /** Stands for the tools and fixed arguments that the caller is limited to. */
  readonly limit: string | undefined;
  readonly inputIds: readonly string[];
}

/** Errors that have nothing to do with the input. They are not kept, so the call can be made again with its key. */
const TRANSIENT_ERRORS: readonly ErrorCode[] = ['unauthenticated', 'rate_limited', 'approval_required'];

/** Whether repeats get this error too, instead of making the call again. */
export function isStoredError(code: ErrorCode): boolean {
  return errorStatus[code] < 500 && !TRANSIENT_ERRORS.includes(code);
}

function isWithoutEffect({ code, detail }: ToolError): boolean {
  return detail.notMade === true || detail.wants !== undefined || TRANSIENT_ERRORS.includes(code);
}

/** Is not kept: the first call's answer is what the key stands for. */
class InputMismatch extends ToolError {
  constructor() {
    super('conflict', 'This idempotency key was used with another input; take a new key for a new call.');
  }
}

/** The call acts outside, and nobody knows whether it took effect: its process or the far end was gone before there was an answer. */
class CutOff extends ToolError {
  constructor() {
    super('interrupted', CUT_OFF);
  }
}

/** What a record keeps of the call that began it, so that a repeat finds it where the answer of the call was not kept. */
export type CallFingerprint = Pick<IdempotentCall, 'key' | 'inputHash'>;

/** @throws ToolError (conflict) if the call that began the record had another input */
export function requireSameInput({ inputHash }: CallFingerprint, first: string | undefined): void {
  if (first !== inputHash) throw new InputMismatch();
}

/** Runs a call with an idempotency key once, and answers its repeats with what was kept. */
export class IdempotentCalls {
  readonly #store: Store;
  readonly #now: () => Date;
  readonly #secret: string;
  /** Keys of calls under way in this process. */
  readonly #running = new Set<string>();

  /** `secret`: without it nobody finds out by trying what the input of a kept call was. */
  constructor(store: Store, now: () => Date, secret: string) {
    this.#store = store;
    this.#now = now;
    this.#secret = secret;
  }

  /** @throws ToolError (invalid_input) for a key that cannot be one */
  of({ principal, requestId }: Call, request: IdempotencyRequest, input: object): IdempotentCall {
    const { key } = request;
    if (key.length === 0 || key.length > 255) {
      throw new ToolError('invalid_input', 'An idempotency key has 1 to 255 characters.');
    }
    return {
      ...keysOf(principal, request),
      inputHash: this.hashOf(input),
      principal,
      requestId,
      inputIds: idsIn(input),
    };
  }

  /**
   * The first call runs `first`, which keeps its own answer; errors that the caller caused are kept here. A later call gets `again`. With
   * `isNoted` the first call is noted before it runs, so that it runs again only if it certainly took no effect.
   * @throws ToolError (interrupted) if that is not known
   */
  async once<Result>(
    repeat: IdempotentCall,
    first: () => Promise<Result>,
    again: (kept: StoredAnswer) => Promise<Result>,
    isNoted = false,
  ): Promise<Result> {
    if (this.#running.has(repeat.key)) throw new ToolError('conflict', STILL_RUNNING);
    this.#running.add(repeat.key);
    const { cluster } = this.#store;
    try {
      const release = cluster && (await cluster.hold(`call ${repeat.key}`));
      try {
        const isElsewhere = Boolean(cluster && !release);
        const kept = await this.#find(repeat).catch((error) => {
          throw isElsewhere && error instanceof CutOff ? new ToolError('conflict', STILL_RUNNING) : error;
        });
        if (kept) return await again(kept);
        if (isElsewhere) throw new ToolError('conflict', STILL_RUNNING);
        if (isNoted) await this.#note(repeat);
        return await first().catch((thrown) => this.#keepError(repeat, toToolError(thrown), isNoted));
      } finally {
        await release?.();
      }
    } finally {
      this.#running.delete(repeat.key);
    }
  }

  async #note({ key, inputHash, limit }: IdempotentCall): Promise<void> {
    await this.#store.transaction(async (tx) => {
      await this.#forget(tx, key);
      await tx.idempotency.insert({ key, inputHash, begun: true, ...(limit !== undefined && { limit }) });
    });
  }

  /** Removes what is kept under the key, if it is expired or no answer. */
  async #forget(tx: Writers & Readers, key: string): Promise<void> {
    const kept = await tx.idempotency.first({ where: { key } });
    if (kept && (kept.begun || kept.createdAt <= this.#oldest())) await tx.idempotency.delete(kept.id);
  }

  /** Keeps the answer in the transaction of the call and drops a few old ones. An undefined answer holds a secret: repeats are refused then. */
  async keep(tx: Writers & Readers, repeat: IdempotentCall, answer: StoredAnswer | undefined): Promise<void> {
    const { key, inputHash, principal, limit, inputIds } = repeat;
    await this.#forget(tx, key);
    const expired = await tx.idempotency.find({ to: this.#oldest(), order: 'oldest', limit: 3 });
    for (const { id } of expired.records) await tx.idempotency.delete(id);
    const answerIds = idsIn(answer ?? '');
    // A repeat must not reveal whether there is a record that the caller cannot see.
    const guarded = await guardedAmong(tx, [...inputIds, ...answerIds]);
    const guardedIds = guarded.filter((record) => isSeen(record, principal)).map(({ id }) => id);
    const recordIds = [...new Set([...answerIds, ...guardedIds])];
    await tx.idempotency.insert({
      key,
      inputHash,
      ...(answer && { answer }),
      ...(limit !== undefined && { limit }),
      ...(recordIds.length > 0 && { recordIds }),
      ...(guardedIds.length > 0 && { guardedIds }),
    });
  }

  async #keepError(repeat: IdempotentCall, error: ToolError, isNoted: boolean): Promise<never> {
    // What a person has to do first may hold a secret, and is about this call alone.
    if (isStoredError(error.code) && !error.detail.wants && !(error instanceof InputMismatch)) {
      const answer = { error: errorBodyOf(error, repeat.requestId) };
      await this.#store.transaction((tx) => this.keep(tx, repeat, answer));
    } else if (isNoted && isWithoutEffect(error)) await this.#store.transaction((tx) => this.#forget(tx, repeat.key));
    throw error;
  }

  /** The answer kept for an earlier call. Undefined where there is none, or it may not be shown. */
  kept(repeat: IdempotentCall): Promise<StoredAnswer | undefined> {
    return this.#find(repeat).catch(() => undefined);
  }

  /** The answer kept for an earlier call. @throws ToolError (conflict) for another input, (not_found) if its record may not be seen any more */
  #find(repeat: IdempotentCall): Promise<StoredAnswer | undefined> {
    return findAnswer(this.#store, repeat, this.#oldest());
  }

  /** Tells an input from others without keeping it. An input may hold secrets that are short. */
  hashOf(input: object): string {
    return createHmac('sha256', this.#secret).update(canonicalize(input)).digest('base64url');
  }

  #oldest(): string {
    return oldestKept(this.#now());
  }
}

function oldestKept(now: Date): string {
  return new Date(now.getTime() - ANSWER_RETENTION_MS).toISOString();
}

type Kept = Pick<IdempotentCall, 'key' | 'limit' | 'principal'> & Partial<Pick<IdempotentCall, 'inputHash'>>;

async function findAnswer(
  store: Readers,
  { key, inputHash, limit, principal }: Kept,
  from: string,
): Promise<StoredAnswer | undefined> {
  const kept = await store.idempotency.first({ where: { key }, from });
  if (!kept) return undefined;
  if (inputHash !== undefined && kept.inputHash !== inputHash) throw new InputMismatch();
  if (kept.begun) throw new CutOff();
  if (kept.answer === undefined) throw new ToolError('conflict', NOT_KEPT);
  if (kept.limit !== undefined && kept.limit !== limit) throw new ToolError('conflict', OTHER_LIMIT);
  const guarded = await guardedAmong(store, kept.guardedIds ?? []);
  const hidden = guarded.find((record) => !isSeen(record, principal));
  if (!hidden) return kept.answer as StoredAnswer; // written by `keep`
  const message = `This call was made before, and ${hidden.id}, which it was about, is not there for you now.`;
  throw new ToolError('not_found', message);
}

/** The answer that is kept of the caller's own call under the key. @throws ToolError as a repeat of the call would */
export function keptAnswer(
  store: Readers,
  { principal, now }: { readonly principal: Principal; readonly now: Date },
  request: IdempotencyRequest,
): Promise<StoredAnswer | undefined> {
  return findAnswer(store, { principal, ...keysOf(principal, request) }, oldestKept(now));
}

function keysOf(principal: Principal, { key, operation }: IdempotencyRequest): Pick<IdempotentCall, 'key' | 'limit'> {
  return {
    key: sha256([principal.type, principal.id, operation, key]),
    limit: principal.tools && sha256(principal.tools.fingerprint),
  };
}

export const STILL_RUNNING = 'The first call with this idempotency key is still running; repeat it later.';
const CUT_OFF =
  'This call was made before and has no answer, so whether it took effect is not known; look before you make it again with a new key.';
const NOT_KEPT =
  'This call was made before and was not repeated; its answer is not kept: it held a secret, or showed a record that was purged or a restricted thread that was deleted.';
const OTHER_LIMIT =
  'This call was made before and was not repeated; since then your limit to some tools or fixed arguments has changed, so its answer is not shown. Use a new key for a new call.';

/** Removes the stored answers that show the record. A repeat of such a call is refused: run again, it would bring the record back. */
export async function deleteAnswersAbout(tx: Pick<Transaction, 'idempotency'>, id: string): Promise<void> {
  for (;;) {
    const { records } = await tx.idempotency.find({ where: { recordIds: id }, limit: 100 });
    if (records.length === 0) return;
    for (const kept of records)
      await tx.idempotency.touch(kept.id, { answer: null, recordIds: null, guardedIds: null });
  }
}

/** The ids of records that occur anywhere in it. */
export function idsIn(value: unknown): string[] {
  return [...new Set(JSON.stringify(value).match(IDS))];
}

function sha256(value: unknown): string {
  return createHash('sha256').update(canonicalize(value)).digest('base64url');
}
