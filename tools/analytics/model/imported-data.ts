import type { RowType } from '../../../resources/imported-rows.ts';
import type { LoggedRow, RowLog } from '../../../store/port.ts';
import { Model, PURGE, type Purge, type TypedRow } from './model.ts';
import { type Settling, settleAll, Turn } from './settling.ts';

const STEP = 2000;
/** Rows that are taken in before the clock is looked at. */
const STRIDE = 32;
/** Replaced rows are dropped at once where a user was purged, else once there are this many and more of them than others, or the first of them was replaced this long ago. */
const MANY = 1000;
const DAY_MS = 24 * 60 * 60 * 1000;
const PURGE_MS = 1000;
const RETRY_MS = 10 * 60 * 1000;

/** A model, and how far the log was read into it. */
interface Fold {
  readonly model: Model;
  position: number;
}

const emptyFold = (): Fold => ({ model: new Model(), position: 0 });

/** The model of a store, read from its row log as far as that goes. */
export class ImportedData {
  readonly #log: RowLog;
  readonly #now: () => Date;
  #fold = emptyFold();
  /** Rows that were dropped from the log but still take up memory in the model. */
  #left = 0;
  #last: Promise<unknown> = Promise.resolve();
  #tidying: Promise<void> | undefined;
  #notBefore = 0;

  constructor(log: RowLog, now = () => new Date()) {
    this.#log = log;
    this.#now = now;
  }

  /** The model with every row that was imported before the call. */
  current(): Promise<Model> {
    return this.ask(
      () => [],
      (model) => model,
    );
  }

  /** What `answer` makes of the same model, in which these parts are up to date too. No row comes in between. */
  ask<Answer>(parts: (model: Model) => Iterable<Settling>, answer: (model: Model) => Answer): Promise<Answer> {
    const asked = this.#last.then(async () => {
      await this.#catchUp(this.#fold);
      const { model } = this.#fold;
      await settleAll(parts(model));
      return answer(model);
    });
    this.#last = asked.catch(() => {});
    return asked;
  }

  /** The whole rows at these positions of the log. */
  rowsAt(positions: readonly number[]): Promise<readonly LoggedRow[]> {
    return this.#log.get(positions);
  }

  /** Somebody is purging a user: what belongs to them is dropped once that is in the log. */
  expectPurge(): void {
    setTimeout(() => this.upkeep().catch(() => {}), PURGE_MS).unref();
  }

  /** Takes in what is new, and has the log drop rows if it is time. */
  async upkeep(): Promise<void> {
    await this.current();
    await this.#tidy();
  }

  /** A failure shows in the status of the store and is tried again. */
  #tidy(): Promise<void> {
    if (!this.#tidying && this.#isTimeToTidy()) {
      this.#tidying = this.#drop()
        .then(() => this.#foldAnew())
        .catch(() => {})
        .finally(() => {
          this.#tidying = undefined;
        });
    }
    return this.#tidying ?? Promise.resolve();
  }

  async #catchUp(fold: Fold): Promise<void> {
    const { model } = fold;
    const { events, visits } = model;
    for (;;) {
      const rows = await this.#log.read(fold.position, STEP);
      const turn = new Turn();
      for (const [at, logged] of rows.entries()) {
        // What a purge takes away is found in what is up to date.
        if (logged.type === PURGE) await settleAll([events.feed, visits.feed], turn);
        model.put(typed(logged), logged.position, logged.at);
        fold.position = logged.next;
        if (at % STRIDE === 0) await turn.goOn();
      }
      await settleAll([events.feed, visits.feed], turn);
      if (rows.length < STEP) break;
    }
    // In the background: the log goes on meanwhile.
    void this.#tidy();
  }

  #isTimeToTidy(): boolean {
    const { rows, superseded, supersededSince, isPurged } = this.#fold.model;
    const now = this.#now().getTime();
    if (supersededSince === undefined || now < this.#notBefore) return false;
    const count = superseded.length;
    return isPurged || (count >= MANY && count > rows - count) || now - Date.parse(supersededSince) >= DAY_MS;
  }

  async #drop(): Promise<void> {
    const { model } = this.#fold;
    const { superseded, supersededSince, isPurged } = model;
    Object.assign(model, { superseded: [], supersededSince: undefined, isPurged: false });
    try {
      await this.#log.drop(superseded);
      model.rows -= superseded.length;
      this.#left += superseded.length;
    } catch {
      model.superseded = [...superseded, ...model.superseded];
      model.supersededSince = supersededSince;
      model.isPurged ||= isPurged;
      this.#notBefore = this.#now().getTime() + RETRY_MS;
    }
  }

  /** Puts a model of what is left in the place of this one, once more rows than that were dropped but still take up memory in it. */
  async #foldAnew(): Promise<void> {
    if (this.#left < MANY || this.#left <= this.#fold.model.rows) return;
    const fold = emptyFold();
    // Meanwhile the model there is goes on answering.
    await this.#catchUp(fold);
    const changed = this.#last.then(async () => {
      await this.#catchUp(fold);
      // What was worked out from the other one does not hold for this one.
      fold.model.version += this.#fold.model.version;
      this.#fold = fold;
      this.#left = 0;
    });
    this.#last = changed.catch(() => {});
    await changed;
  }
}

function typed({ type, row }: LoggedRow): TypedRow | Purge {
  // `import_records` parsed the row by the schema of its type; others are purges.
  return { type: type as RowType | typeof PURGE, row } as unknown as TypedRow | Purge;
}
