import { setImmediate } from 'node:timers/promises';
import { recordsOf } from '../../resources/audit-entry.ts';
import { type CheckedHeads, checkHeads } from './check-heads.ts';
import { digestOf, hashOfHead, MARK, type SpanHead, type StoredHead } from './head.ts';
import type { ProofKey, PublicProofKey } from './proof-key.ts';
import { contentHash, contentOf, entryHash, hasOtherMembers, parseSeal, type Seal, type SealedEntry } from './seal.ts';
import { KEY_PART } from './sealer.ts';
import { type KnownHead, nameOf, type Problem, problemOf, type Verdict } from './verdict.ts';

/** An entry, or what is wrong with the place where it stands. */
export type FoundEntry =
  | { readonly entry: SealedEntry }
  | { readonly problem: Problem; readonly proof?: string | undefined };

export interface VerifyInput {
  readonly entries: AsyncIterable<FoundEntry>;
  readonly heads: AsyncIterable<StoredHead>;
  readonly publicKeys: readonly PublicProofKey[];
  /** With it, entries that no head covers yet are checked too. */
  readonly key?: ProofKey | undefined;
  /** The key is new to this log: what others sealed before is taken as it is. */
  readonly takesOver?: boolean | undefined;
  /** Only entries of calls that began in [from, to) are given. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly known?: KnownHead | undefined;
}

interface OpenSpan {
  readonly head: SpanHead | undefined;
  readonly hashes: Map<number, string>;
  readonly times: Map<number, { readonly at: string; readonly id: string }>;
  isTainted: boolean;
}

const PAUSE_AFTER = 200;

/** Entries that no head covers, of chains that have ended. */
export interface Orphans {
  readonly chain: string;
  readonly span: number;
  readonly hashes: ReadonlyMap<number, string>;
  readonly first: string;
  readonly last: string;
}

export async function verifyAudit(input: VerifyInput): Promise<{ verdict: Verdict; orphans: Orphans[] }> {
  const stored: StoredHead[] = [];
  for await (const head of input.heads) stored.push(head);
  const verification = new Verification(input, checkHeads(stored, input));
  let count = 0;
  for await (const found of input.entries) {
    verification.take(found);
    count += 1;
    if (count % PAUSE_AFTER === 0) await setImmediate();
  }
  return { verdict: verification.verdict(), orphans: verification.orphans() };
}

class Verification {
  readonly #input: VerifyInput;
  readonly #heads: CheckedHeads;
  readonly #open = new Map<string, OpenSpan>();
  readonly #done = new Set<string>();
  #first: Problem | undefined;
  #entries = 0;
  #older = 0;
  #unsigned = 0;

  constructor(input: VerifyInput, heads: CheckedHeads) {
    this.#input = input;
    this.#heads = heads;
  }

  take(found: FoundEntry): void {
    if ('problem' in found) {
      this.#note(found.problem);
      const seal = parseSeal(found.proof ?? '');
      if (seal) this.#spanOf(seal).isTainted = true;
      return;
    }
    const { entry } = found;
    if (entry.proof === undefined) this.#takeOlder(entry);
    else {
      const seal = parseSeal(entry.proof);
      this.#entries += 1;
      const kind = seal ? this.#check(entry, seal) : 'changed';
      if (kind) this.#note(problemOf(kind, entry));
    }
  }

  verdict(): Verdict {
    // What a head that is gone or changed said of entries is unknown, so it comes first.
    const [ofHeads] = this.#heads.problems.toSorted((one, other) => (one.at < other.at ? -1 : 1));
    for (const problem of this.#missing()) this.#note(problem);
    const { begins, list } = this.#heads;
    const last = list.at(-1);
    if (!last && this.#entries > 0 && !this.#first) this.#note({ kind: 'missing', id: 'head 1', at: '' });
    if (begins?.entries !== undefined && this.#older > begins.entries) this.#note({ kind: 'added', at: begins.at });
    const problem = ofHeads ?? this.#first;
    return {
      intact: problem === undefined,
      ...{ entries: this.#entries, heads: list.length, older: this.#older, unsigned: this.#unsigned },
      ...(last && { lastHead: { number: last.number, at: last.at, hash: hashOfHead(last) } }),
      ...(problem && { firstProblem: problem }),
    };
  }

  orphans(): Orphans[] {
    return [...this.#open].flatMap(([name, { head, hashes, times }]) => {
      const [chain = '', span] = name.split('.');
      const at = [...times.values()].map((time) => time.at).sort();
      if (head || at.length === 0) return [];
      return [{ chain, span: Number(span), hashes, first: at[0] ?? '', last: at.at(-1) ?? '' }];
    });
  }

  #takeOlder(entry: SealedEntry): void {
    const { begins } = this.#heads;
    this.#older += 1;
    const isOlder = begins && begins.entries !== 0 && entry.at < begins.at && entry.salt === undefined;
    if (!isOlder) this.#note(problemOf('added', entry));
  }

  #check(entry: SealedEntry, seal: Seal): Problem['kind'] | undefined {
    const name = nameOf(seal);
    if (this.#done.has(name)) return 'added';
    const span = this.#spanOf(seal);
    const { head } = span;
    const own = this.#input.key;
    const isOwn = own && seal.chain.startsWith(own.publicKey.id.slice(0, KEY_PART));
    if (!head && own && !isOwn && !this.#input.takesOver) return 'added';
    const ownKey = () => (isOwn ? own.spanKey(seal.chain, seal.span) : undefined);
    const key = head ? head.key || undefined : ownKey(); // a head of orphans has none
    if (!head) this.#unsigned += 1;
    if (span.hashes.has(seal.number)) return this.#taint(span, 'added');
    if (head && (seal.number > head.count || seal.number < 1 || head.voids?.includes(seal.number)))
      return this.#taint(span, 'added');
    if (hasOtherMembers(entry) || (key !== undefined && entryHash(entry, seal, seal.content, key) !== seal.hash))
      return this.#taint(span, 'changed');
    if (!this.#isContentRight(entry, seal)) return this.#taint(span, 'changed');
    const mark = head?.marks.slice((seal.number - 1) * MARK, seal.number * MARK);
    if (mark !== undefined && !seal.hash.startsWith(mark)) return this.#taint(span, 'changed');
    span.hashes.set(seal.number, seal.hash);
    span.times.set(seal.number, { at: entry.at, id: entry.id });
    if (head && this.#isComplete(span, head)) {
      this.#done.add(name);
      this.#open.delete(name);
      if (digestOf(inOrder(span.hashes)) !== head.digest) return 'changed';
    }
    return undefined;
  }

  #isContentRight(entry: SealedEntry, { content }: Seal): boolean {
    const text = contentOf(entry.arguments);
    if (content === undefined) return text === undefined && entry.salt === undefined;
    if (entry.salt !== undefined) return contentHash(entry.salt, text) === content;
    return text === undefined && recordsOf(entry).some((id) => this.#heads.erased.has(id));
  }

  #taint(span: OpenSpan, kind: Problem['kind']): Problem['kind'] {
    span.isTainted = true;
    return kind;
  }

  #spanOf(seal: Seal): OpenSpan {
    const name = nameOf(seal);
    const known = this.#open.get(name);
    if (known) return known;
    const begun: OpenSpan = {
      head: this.#heads.spans.get(name)?.span,
      hashes: new Map(this.#heads.gone.get(name)),
      times: new Map(),
      isTainted: false,
    };
    this.#open.set(name, begun);
    return begun;
  }

  #isComplete({ hashes }: OpenSpan, { count, voids = [] }: SpanHead): boolean {
    return hashes.size === count - voids.length;
  }

  *#missing(): Generator<Problem> {
    const { from = '', to } = this.#input;
    for (const [name, { span, isPruned }] of this.#heads.spans) {
      if (this.#done.has(name) || isPruned || span.first < from || (to !== undefined && span.last >= to)) continue;
      const found = this.#open.get(name);
      if (found?.isTainted) continue;
      const hashes = found?.hashes ?? new Map(this.#heads.gone.get(name));
      const voids = new Set(span.voids);
      let at = span.first;
      for (let number = 1; number <= span.count; number += 1) {
        if (!hashes.has(number) && !voids.has(number)) {
          yield { kind: 'missing', at };
          break;
        }
        at = found?.times.get(number)?.at ?? at;
      }
    }
  }

  #note(problem: Problem): void {
    if (!this.#first || problem.at < this.#first.at) this.#first = problem;
  }
}

function inOrder(hashes: ReadonlyMap<number, string>): string[] {
  return [...hashes].sort(([one], [other]) => one - other).map(([, own]) => own);
}
