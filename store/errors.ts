export class NotFound extends Error {
  readonly collection: string;
  readonly id: string;
  constructor(collection: string, id: string) {
    super(`${collection} has no record ${id}`);
    this.collection = collection;
    this.id = id;
  }
}

export class StaleRevision extends Error {
  readonly currentRevision: number;
  constructor(currentRevision: number) {
    super(`the current revision is ${currentRevision}`);
    this.currentRevision = currentRevision;
  }
}

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

/** JSON cannot hold the number. Reading `1e400` gives such a one. */
export class NumberTooLarge extends Error {
  readonly path: string;
  constructor(path: string) {
    super(`a record cannot hold the number at ${path}`);
    this.path = path;
  }
}

/** The store cannot keep the change now (full disk, lost connection). Nothing of the change remains. */
export class StoreUnavailable extends Error {}

/** The change, or a part of it, may have been made: the store failed while it was committed. */
export class StoreUncertain extends StoreUnavailable {}

/** The store can answer later, as the message says, which may be shown. */
export class StoreBusy extends StoreUnavailable {}

/** Something that an operator asked for is impossible. The message says why and what to do, so it is shown without a stack. */
export class OperatorError extends Error {}

/** The store cannot be opened because a file is damaged. The message names the place and how to recover. */
export class StoreDamaged extends OperatorError {}

/** Another process has the store open. The message names that process. */
export class StoreLocked extends OperatorError {}
