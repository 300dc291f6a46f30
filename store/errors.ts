/** No record has the id. */
export class NotFound extends Error {
  readonly collection: string;
  readonly id: string;
  constructor(collection: string, id: string) {
    super(`${collection} has no record ${id}`);
    this.collection = collection;
    this.id = id;
  }
}

/** The record changed since the caller read it. */
export class StaleRevision extends Error {
  readonly currentRevision: number;
  constructor(currentRevision: number) {
    super(`the current revision is ${currentRevision}`);
    this.currentRevision = currentRevision;
  }
}

/** Another record has the value that must be unique. */
export class UniqueTaken extends Error {
  readonly collection: string;
  readonly fields: readonly string[];
  readonly holderId: string;
  constructor(collection: string, fields: readonly string[], holderId: string) {
    super(`${collection}: ${fields.join(', ')} is taken by ${holderId}`);
    this.collection = collection;
    this.fields = fields;
    this.holderId = holderId;
  }
}

/** The store cannot keep a change now (full disk, lost connection); nothing of the change remains. */
export class StoreUnavailable extends Error {}

/** Something an operator asked for cannot be done; the message says why and what to do, and is all they need. */
export class OperatorError extends Error {}

/** The store cannot be opened as it is; the message names the place and how to recover. */
export class StoreDamaged extends OperatorError {}

/** Another process has the store open; the message names it. */
export class StoreLocked extends OperatorError {}
