import type { AuditEntry } from '../../resources/audit-entry.ts';
import type { AuditProof } from '../audit-proof-port.ts';
import { DelayedTask } from '../periodic-task.ts';
import type { AuditQuery, Page, Position } from '../port.ts';
import {
  type AuditHead,
  digestOf,
  type HeadLog,
  hashOfHead,
  marksOf,
  type Pruned,
  type SpanHead,
  type Statement,
  signHead,
} from './head.ts';
import type { ProofKey, PublicProofKey } from './proof-key.ts';
import { parseSeal, type SealedEntry } from './seal.ts';
import { type SealedBatch, Sealer } from './sealer.ts';
import { nameOf, type Verdict } from './verdict.ts';
import { type FoundEntry, type Orphans, type VerifyInput, verifyAudit } from './verify.ts';

interface Range {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/** What the store offers of its log. */
export interface ProvenLog {
  readonly heads: HeadLog;
  /** Makes durable what was sealed before. */
  flush(): Promise<void>;
  /** Finds out how transactions ended, whose ends were not known. */
  settle?(): Promise<void>;
  entries(range: Range): AsyncIterable<FoundEntry>;
  /** How many entries there are, where that is quick to know and nobody else adds any. */
  count?(): Promise<number>;
}

const PAGE = 500;

/** All entries of the range, page by page, newest first. */
export async function* entriesOf(
  find: (query: AuditQuery) => Promise<Page<SealedEntry>>,
  range: Range,
): AsyncGenerator<FoundEntry> {
  let after: Position | undefined;
  do {
    const { records, next } = await find({ ...range, limit: PAGE, after });
    for (const entry of records) yield { entry };
    after = next ?? undefined;
  } while (after);
}

const EVERY_MS = 60_000;
const SOON_MS = 1000;
/** So long, processes of the version before may still run on the database. */
const ROLLING_UPDATE_MS = 60 * 60_000;

/** Seals the entries of this process, signs heads, and verifies the whole log. */
export class AuditProver implements AuditProof {
  readonly #key: ProofKey;
  readonly #log: ProvenLog;
  readonly #now: () => Date;
  readonly #sealer: Sealer;
  readonly #signing: DelayedTask;
  readonly #listeners = new Set<(head: AuditHead) => void>();
  #erased: string[] = [];
  #known: { readonly number: number; readonly hash: string } | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(key: ProofKey, log: ProvenLog, now: () => Date) {
    this.#key = key;
    this.#log = log;
    this.#now = now;
    this.#sealer = new Sealer(key, () => this.#signing.soon(SOON_MS));
    this.#signing = new DelayedTask(() => this.sign().then(() => {}), { delayMs: EVERY_MS, retryMs: EVERY_MS });
  }

  get publicKey(): PublicProofKey {
    return this.#key.publicKey;
  }

  /** Why the last head could not be signed. */
  get error(): Error | undefined {
    return this.#signing.error;
  }

  /** Signs where the proof begins, in a log that has none. */
  async begin(): Promise<void> {
    const last = await this.#log.heads.last();
    if (last && last.keyId !== this.publicKey.id) await this.#takeOver();
    if (last) return;
    const at = this.#now();
    const entries = await this.#olderEntries();
    const until = entries === undefined ? new Date(at.getTime() + ROLLING_UPDATE_MS) : at;
    const begins = { at: until.toISOString(), ...(entries !== undefined && { entries }) };
    await this.#log.heads.append((last) => last ?? signHead({ begins }, undefined, this.#key, at));
  }

  /** With another key than before, what no head covers is signed as it is found. */
  async #takeOver(): Promise<void> {
    const { orphans } = await verifyAudit({ ...this.#input({}), takesOver: true });
    for (const each of orphans) if (each.chain !== this.#sealer.chain) await this.#append({ span: spanOf(each) });
    await this.#append({});
  }

  async #olderEntries(): Promise<number | undefined> {
    if (this.#log.count) return Math.max(0, (await this.#log.count()) - this.#sealer.sealed);
    for await (const _ of this.#log.entries({})) return undefined;
    return 0;
  }

  seal(entry: AuditEntry): SealedEntry {
    this.#signing.soon();
    return this.#sealer.seal(entry);
  }

  /** The same as text. */
  sealedJson(entry: AuditEntry): string {
    this.#signing.soon();
    return this.#sealer.sealedJson(entry);
  }

  sealBatch(entries: readonly AuditEntry[]): SealedBatch {
    this.#signing.soon();
    return this.#sealer.sealBatch(entries);
  }

  /** Signs that content about these records is withdrawn. Called before, or in what a restart repeats. */
  async erased(ids: readonly string[]): Promise<void> {
    this.#erased.push(...ids);
    await this.#inTurn(() => this.#signErased());
  }

  /** Signs all that is durable and no head covers yet. Returns the newest head. */
  async sign(): Promise<AuditHead | undefined> {
    await this.#inTurn(() => this.#sign());
    return this.#log.heads.last();
  }

  /** Calls the listener with each head that this process signs, until the returned function is called. */
  onHead(listener: (head: AuditHead) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  last(): Promise<AuditHead | undefined> {
    return this.#log.heads.last();
  }

  heads(): ReturnType<HeadLog['read']> {
    return this.#log.heads.read();
  }

  async verify({ from, to }: Range = {}): Promise<Verdict> {
    await this.sign();
    const end = to ?? this.#now().toISOString();
    const { verdict } = await verifyAudit(this.#input({ from, to }, end));
    // Meanwhile entries may have been pruned, or their content withdrawn.
    return verdict.intact ? verdict : (await verifyAudit(this.#input({ from, to }, end))).verdict;
  }

  #input({ from, to }: Range, end = to): VerifyInput {
    return {
      entries: this.#log.entries({ from, to: end }),
      heads: this.#log.heads.read(),
      publicKeys: [this.publicKey],
      ...{ key: this.#key, known: this.#known, from, to: end },
    };
  }

  /** Signs that entries before this day are removed, and removes heads that cover nothing else. Called before they are. */
  prune(day: string): Promise<void> {
    return this.#inTurn(() => this.#prune(`${day}T00:00:00.000Z`));
  }

  /** `signs`: the entries are durable. */
  async close({ signs }: { readonly signs: boolean }): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#signing.close();
    if (signs) await this.#inTurn(() => this.#sign()).catch(() => {}); // the next start goes on without that head
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => {});
    return done;
  }

  async #sign(): Promise<void> {
    this.#sealer.closeSpan();
    await this.#log.settle?.();
    const ended = this.#sealer.ended();
    if (ended.length > 0) await this.#log.flush();
    for (const span of ended) {
      await this.#append({ span: this.#sealer.headOf(span) });
      this.#sealer.signed(span);
    }
    await this.#signErased();
    if (this.#sealer.hasUnsigned) this.#signing.soon(ended.length > 0 ? EVERY_MS : SOON_MS);
  }

  async #signErased(): Promise<void> {
    const erased = [...new Set(this.#erased)];
    if (erased.length === 0) return;
    await this.#append({ erased });
    this.#erased = this.#erased.filter((id) => !erased.includes(id));
  }

  async #append(statement: Statement): Promise<void> {
    const head = await this.#log.heads.append((last) => signHead(statement, last, this.#key, this.#now()));
    this.#known = { number: head.number, hash: hashOfHead(head) };
    for (const listener of this.#listeners) listener(head);
  }

  async #prune(before: string): Promise<void> {
    const heads: AuditHead[] = [];
    for await (const { head } of this.#log.heads.read()) if (head) heads.push(head);
    // What other heads say is said again by this one.
    const isOld = ({ span }: AuditHead) => !span || span.last < before;
    const kept = heads.findIndex((head) => !isOld(head));
    const removed = kept < 0 ? heads : heads.slice(0, kept);
    const partly = heads.slice(removed.length).flatMap(({ span }) => (span && span.first < before ? [span] : []));
    const earlier = heads.findLast(({ pruned }) => pruned)?.pruned;
    if (removed.length === 0 && partly.length === 0) return;
    const last = removed.at(-1);
    const gone = await this.#goneOf(partly, { before, earlier });
    const begins = heads.findLast((head) => head.begins)?.begins;
    const pruned: Pruned = {
      before,
      through: last?.number ?? earlier?.through ?? 0,
      hash: last ? hashOfHead(last) : (earlier?.hash ?? ''),
      gone,
      erased: [...new Set([...(earlier?.erased ?? []), ...removed.flatMap(({ erased = [] }) => erased)])],
    };
    await this.#append({ pruned, ...(begins && { begins }) });
    await this.#log.heads.removeThrough(pruned.through);
  }

  /** The hashes of the entries that go while the heads that cover them stay. */
  async #goneOf(
    spans: readonly { readonly chain: string; readonly span: number; readonly first: string }[],
    { before, earlier }: { readonly before: string; readonly earlier: Pruned | undefined },
  ): Promise<Pruned['gone']> {
    const gone = new Map(
      spans.map(({ chain, span }) => [nameOf({ chain, span }), { chain, span, entries: new Map<number, string>() }]),
    );
    for (const each of earlier?.gone ?? [])
      for (const [number, own] of each.entries) gone.get(nameOf(each))?.entries.set(number, own);
    const [from] = spans.map(({ first }) => first).sort();
    if (from === undefined) return [];
    for await (const found of this.#log.entries({ from, to: before })) {
      const seal = 'entry' in found ? parseSeal(found.entry.proof ?? '') : undefined;
      if (seal) gone.get(nameOf(seal))?.entries.set(seal.number, seal.hash);
    }
    return [...gone.values()].map((each) => ({ ...each, entries: [...each.entries] }));
  }
}

/** The key of the span is unknown, so its hashes alone hold. */
function spanOf({ chain, span, hashes, first, last }: Orphans): SpanHead {
  const count = Math.max(...hashes.keys());
  const numbers = Array.from({ length: count }, (_, at) => at + 1);
  const voids = numbers.filter((number) => !hashes.has(number));
  const found = numbers.flatMap((number) => hashes.get(number) ?? []);
  return {
    ...{ chain, span, count, first, last, key: '', digest: digestOf(found) },
    ...(voids.length > 0 && { voids }),
    marks: marksOf(numbers.map((number) => hashes.get(number) ?? '----')),
  };
}
