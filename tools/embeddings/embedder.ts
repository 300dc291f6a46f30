import { setImmediate } from 'node:timers/promises';
import { backoffMs } from '../../store/backoff.ts';
import type { StoredEmbedding } from '../../store/embeddings-port.ts';
import type { Store } from '../../store/port.ts';
import { whileHolding } from '../../store/while-holding.ts';
import { HANG_MS } from '../core/models/circuit.ts';
import { EmbeddingFailure, type EmbeddingModel } from '../core/models/embedding-model.ts';
import type { TextSource } from '../documents/find-passages.ts';
import { CALIBRATION, UNRELATED } from './calibration.ts';
import type { EmbeddingIndex } from './embedding-index.ts';
import { EmbeddingRequests } from './embedding-requests.ts';
import type { SharedEmbeddingState } from './embedding-state.ts';
import { type RecordToEmbed, recordsToEmbed } from './records-to-embed.ts';
import { EMBEDDED, isEmbedded, partsOf, sourceOf, type TextRecord } from './texts.ts';
import { keyOf } from './vector-set.ts';
import { between, hashOf, packParts, vectorOf } from './vectors.ts';

/** The circuit of its embeddings has counted a failure before. */
const REQUEST_MS = HANG_MS + 5000;
/** Also where the provider asks for more: a timer of weeks would end at once. */
const LONGEST_WAIT_MS = 60 * 60_000;
const BACKOFF = { firstMs: 1000, longestMs: 5 * 60_000 };
/** Records looked at for one request at most. */
const MOST_RECORDS = 100;
/** A process that does not lead asks this often whether it does. */
const [LOOK_MS, SOON_MS] = [1000, 50];
/** All records are looked through again, in case something was missed. */
const SCAN_EVERY_MS = 30 * 60_000;
/** A request under way may end at a shutdown, because its tokens are paid for. */
const END_MS = 3000;
const HELD = 'embeddings';

interface EmbedderDeps {
  readonly store: Store;
  readonly index: EmbeddingIndex;
  /** Undefined: what was embedded is removed with its record, and nothing is added. */
  readonly model: EmbeddingModel | undefined;
  readonly state: SharedEmbeddingState;
  onFailure(cause: unknown): void;
}

interface Job {
  readonly due: RecordToEmbed;
  readonly source: TextSource;
  readonly hashes: readonly string[];
  readonly isWhole: boolean;
  /** The hashes of the headings of new parts, by those of the parts. */
  readonly headings: ReadonlyMap<string, string>;
}

/** Embeds the texts of records in the background, in one process for all. What it kept survives any end of the process. */
export class Embedder {
  readonly #deps: EmbedderDeps;
  readonly #due = new Map<string, RecordToEmbed>();
  readonly #ending = new AbortController();
  #scan: AsyncGenerator<RecordToEmbed, void> | undefined;
  #scanAt = Number.NEGATIVE_INFINITY;
  #leads = false;
  #isClosed = false;
  #wake = () => {};
  #failures = 0;
  readonly #requests: EmbeddingRequests;
  #working: Promise<void> = Promise.resolve();
  #stopListening = () => {};
  /** Why it waits. */
  error: Error | undefined;
  /** Whether all records have their vectors, as far as it knows. */
  isDone = false;

  constructor(deps: EmbedderDeps) {
    this.#deps = deps;
    this.#requests = new EmbeddingRequests(() => deps.model && deps.index.setOf(deps.model.id).width);
  }

  start(): void {
    const { store, index, model } = this.#deps;
    this.#stopListening = store.onCommit(({ changes }) => {
      // Without a model, only what one embedded earlier is followed.
      if (!this.#leads || (!model && index.sets.size === 0)) return;
      for (const { collection, record } of changes)
        if (isEmbedded(collection)) this.#add({ collection, id: record.id });
      this.#wake();
    }, EMBEDDED);
    this.#working = this.#work();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopListening();
    this.#wake();
    const timer = setTimeout(() => this.#ending.abort(), END_MS);
    await this.#working;
    clearTimeout(timer);
  }

  #add(due: RecordToEmbed): void {
    this.#due.set(keyOf(due), due);
    this.isDone = false;
  }

  async #work(): Promise<void> {
    while (!this.#isClosed) {
      const pause = await this.#turn().catch((cause) => this.#failed(cause));
      if (!this.#isClosed && pause > 0) await this.#pause(pause);
    }
  }

  /** Works as long as there is something to do. Resolves to how long to wait then. */
  async #turn(): Promise<number> {
    const { store } = this.#deps;
    if (!store.jobs.isLeader) this.#follow();
    if (!store.jobs.isLeader || this.#isIdle) return LOOK_MS;
    // After a leader dies, two may lead for a moment.
    const worked = await whileHolding(store, HELD, () => this.#lead());
    return worked?.result ?? LOOK_MS;
  }

  async #lead(): Promise<number> {
    await this.#begin();
    await this.#calibrate();
    while (!this.#isClosed && this.#deps.store.jobs.isLeader) {
      const more = await this.#batch();
      this.#failures = 0;
      this.error = undefined;
      await this.#deps.state.works();
      if (!more) return this.#end();
      await setImmediate();
    }
    return LOOK_MS;
  }

  /** Another process leads, which looks at everything itself. */
  #follow(): void {
    if (this.#leads) this.#deps.state.yields();
    this.#leads = false;
    this.error = undefined;
    this.#due.clear();
  }

  get #isIdle(): boolean {
    return this.#leads && this.isDone && this.#due.size === 0 && !this.#isScanDue;
  }

  get #isScanDue(): boolean {
    return performance.now() - this.#scanAt > SCAN_EVERY_MS;
  }

  /** A process that has become the leader looks at everything. */
  async #begin(): Promise<void> {
    if (!this.#leads) await this.#deps.index.read();
    if (!this.#leads || this.#isScanDue) {
      this.#scan = recordsToEmbed(this.#deps);
      this.#scanAt = performance.now();
      this.#leads = true;
    }
  }

  /** Before texts are found by it, it must be known what is near to the model. */
  async #calibrate(): Promise<void> {
    const { index, model } = this.#deps;
    if (!model || index.setOf(model.id).nearFrom !== undefined) return;
    const { vectors } = await model.embed(UNRELATED, this.#signal());
    const parts = UNRELATED.map((text, at) => ({ hash: hashOf(text), ...vectorOf(vectors[at] ?? []) }));
    await this.#keep([{ ...CALIBRATION, model: model.id, parts: packParts(parts) }]);
  }

  #signal(): AbortSignal {
    return AbortSignal.any([this.#ending.signal, AbortSignal.timeout(REQUEST_MS)]);
  }

  async #end(): Promise<number> {
    const { index, model } = this.#deps;
    this.isDone = true;
    if (model) for (const other of [...index.sets.keys()]) if (other !== model.id) await index.removeModel(other);
    return LOOK_MS;
  }

  async #failed(cause: unknown): Promise<number> {
    if (this.#isClosed) return 0;
    this.error = cause instanceof Error ? cause : new Error(String(cause));
    this.isDone = false;
    if (!(cause instanceof EmbeddingFailure)) this.#deps.onFailure(cause);
    const { retryAfterMs } = cause instanceof EmbeddingFailure ? cause : {};
    this.#failures += 1;
    const pause = Math.min(retryAfterMs ?? backoffMs(this.#failures - 1, BACKOFF), LONGEST_WAIT_MS);
    await this.#deps.state.fails(this.error, pause);
    return pause;
  }

  /** New work ends a wait, but not one after a failure. */
  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      // What came since the last look did not wake it.
      const timer = setTimeout(resolve, this.#due.size > 0 && !this.error ? Math.min(ms, SOON_MS) : ms);
      this.#wake = () => {
        if (this.error && !this.#isClosed) return;
        clearTimeout(timer);
        resolve();
      };
    });
  }

  async #next(): Promise<RecordToEmbed | undefined> {
    const [first] = this.#due;
    if (first) {
      this.#due.delete(first[0]);
      return first[1];
    }
    const next = await this.#scan?.next().catch((cause) => {
      // It ends with its failure, and begins anew.
      this.#scanAt = Number.NEGATIVE_INFINITY;
      throw cause;
    });
    if (next?.done) this.#scan = undefined;
    return next?.value ?? undefined;
  }

  /** Embeds the texts of some records together. False if none is left. */
  async #batch(): Promise<boolean> {
    const { model } = this.#deps;
    const jobs: Job[] = [];
    const texts = new Map<string, string>();
    const taken: RecordToEmbed[] = [];
    const gone: RecordToEmbed[] = [];
    try {
      for (
        let due = await this.#next();
        due;
        due = texts.size < this.#requests.mostTexts ? await this.#next() : undefined
      ) {
        if (taken.some(({ collection, id }) => collection === due?.collection && id === due.id)) continue;
        taken.push(due);
        const job = model ? await this.#jobOf(due, texts) : undefined;
        if (job) jobs.push(job);
        else if (!model || !(await this.#deps.store[due.collection].get(due.id))) gone.push(due);
        if (taken.length >= MOST_RECORDS) break;
      }
      if (gone.length > 0) await this.#deps.index.remove(gone);
      if (model && jobs.length > 0) await this.#embed(model, jobs, texts);
    } catch (cause) {
      for (const due of taken) this.#add(due);
      throw cause;
    }
    for (const { due, isWhole } of jobs) if (!isWhole) this.#add(due);
    return taken.length > 0;
  }

  /** Adds the texts of the record that have no vector, as many as fit. Undefined if there is nothing to keep. */
  async #jobOf(due: RecordToEmbed, texts: Map<string, string>): Promise<Job | undefined> {
    const { store, index, model } = this.#deps;
    const record: TextRecord | undefined = await store[due.collection].get(due.id);
    const set = model && index.setOf(model.id);
    if (!record || !set) return undefined;
    const source = sourceOf(due.collection, record);
    if (set.get(due)?.state === source.state) return undefined;
    const parts = partsOf(due.collection, record, source);
    const hashes = parts.map(({ text }) => hashOf(text));
    const ofHeadings = new Map<string, string>();
    let isWhole = true;
    for (const [at, { text, headings }] of parts.entries()) {
      const hash = hashes[at] ?? '';
      if (texts.has(hash) || set.known(hash)) continue;
      if (texts.size >= this.#requests.mostTexts) isWhole = false;
      else {
        texts.set(hash, text);
        if (headings === '') continue;
        ofHeadings.set(hash, hashOf(headings));
        texts.set(hashOf(headings), headings);
      }
    }
    return { due, source, hashes, isWhole, headings: ofHeadings };
  }

  async #embed(model: EmbeddingModel, jobs: readonly Job[], texts: ReadonlyMap<string, string>): Promise<void> {
    const { index } = this.#deps;
    const set = index.setOf(model.id);
    const made = await this.#requests.embed(model, texts, () => this.#signal());
    const width = made.values().next().value?.codes.length;
    if (width !== undefined && set.width !== undefined && width !== set.width) {
      throw new EmbeddingFailure(
        `The embedding model ${model.id} now answers vectors of ${width} numbers, those kept have ${set.width}: it is another model; name it differently in EMBEDDING_MODEL.`,
      );
    }
    for (const [hash, headings] of jobs.flatMap((job) => [...job.headings])) {
      const [part, above] = [made.get(hash), made.get(headings)];
      if (part && above) made.set(hash, { hash, ...between(part, above) });
    }
    const rows = jobs.map(({ due, source, hashes, isWhole }): StoredEmbedding => {
      const parts = hashes.flatMap((hash) => made.get(hash) ?? set.known(hash) ?? []);
      return { ...due, model: model.id, state: isWhole ? source.state : '', parts: packParts(parts) };
    });
    await this.#keep(rows);
  }

  /** What was paid for is kept, however long the store takes. */
  async #keep(rows: readonly StoredEmbedding[]): Promise<void> {
    for (let failures = 0; ; failures += 1) {
      try {
        return await this.#deps.index.put(rows);
      } catch (cause) {
        this.error = cause instanceof Error ? cause : new Error(String(cause));
        this.#deps.onFailure(cause);
        if (this.#isClosed) throw cause;
        const pause = backoffMs(failures, BACKOFF);
        await this.#deps.state.fails(this.error, pause);
        await this.#pause(pause);
        if (this.#isClosed) throw cause;
      }
    }
  }
}
