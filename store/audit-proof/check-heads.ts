import { type AuditHead, hashOfHead, type Pruned, type SpanHead, type StoredHead, signedText } from './head.ts';
import type { PublicProofKey } from './proof-key.ts';
import { headProblem, type KnownHead, nameOf, type Problem } from './verdict.ts';

interface HeadCheck {
  readonly publicKeys: readonly PublicProofKey[];
  readonly known?: KnownHead | undefined;
  readonly takesOver?: boolean | undefined;
}

export interface CheckedHeads {
  /** Those that a known key vouches for. */
  readonly list: readonly AuditHead[];
  readonly spans: ReadonlyMap<string, { readonly span: SpanHead; readonly isPruned: boolean }>;
  readonly begins: AuditHead['begins'];
  readonly erased: ReadonlySet<string>;
  /** Hashes of entries that were pruned, by span. */
  readonly gone: ReadonlyMap<string, readonly (readonly [number, string])[]>;
  readonly problems: readonly Problem[];
}

/** Heads from the newest back: a signature covers its head, and by the hash in it all heads before. */
export function checkHeads(stored: readonly StoredHead[], { publicKeys, known, takesOver }: HeadCheck): CheckedHeads {
  const problems: Problem[] = [];
  const list: AuditHead[] = [];
  let vouched: string | undefined;
  let time = stored.find(({ head }) => head)?.head?.at ?? '';
  for (const { head, damage } of stored) {
    if (damage !== undefined || !head) problems.push({ kind: 'changed', id: 'head', at: head?.at ?? time });
    time = head?.at ?? time;
  }
  const last = stored.at(-1)?.head;
  if (takesOver && last) vouched = hashOfHead(last);
  const readable = stored.flatMap(({ head, damage }) => (head && damage === undefined ? [head] : []));
  for (const head of readable.toReversed()) {
    const isSigned = () =>
      publicKeys.some((key) => key.id === head.keyId && key.verifies(signedText(head), head.signature));
    if (hashOfHead(head) === vouched || isSigned()) {
      list.unshift(head);
      vouched = head.before;
    } else problems.push(headProblem('changed', head));
  }
  const pruned = newest(list, ({ pruned: stub }) => stub);
  if (problems.length === 0) problems.push(...orderProblems(list, pruned));
  if (problems.length === 0) problems.push(...absent(list, known));
  return { list, problems, ...contentsOf(list, pruned) };
}

function contentsOf(list: readonly AuditHead[], pruned: Pruned | undefined) {
  const spans = new Map<string, { span: SpanHead; isPruned: boolean }>();
  for (const { span, number } of list)
    if (span) spans.set(nameOf(span), { span, isPruned: number <= (pruned?.through ?? 0) });
  return {
    spans,
    begins: newest(list, ({ begins }) => begins),
    erased: new Set([...(pruned?.erased ?? []), ...list.flatMap(({ erased = [] }) => erased)]),
    gone: new Map((pruned?.gone ?? []).map((each) => [nameOf(each), each.entries] as const)),
  };
}

function orderProblems(list: readonly AuditHead[], pruned: Pruned | undefined): Problem[] {
  const [first] = list;
  if (!first) return [];
  const numbers = new Set(list.map(({ number }) => number));
  const isFirst = first.number === 1 || (pruned && first.number <= pruned.through + 1);
  const isAfterPruned = first.number !== (pruned?.through ?? 0) + 1 || first.before === (pruned?.hash ?? '');
  if (!isFirst || !isAfterPruned) return [{ kind: numbers.has(1) ? 'moved' : 'missing', id: 'head', at: first.at }];
  for (const [at, head] of list.entries()) {
    const before = list[at - 1];
    if (!before || head.before === hashOfHead(before)) continue;
    if (head.number <= before.number) return [headProblem(numbers.size < list.length ? 'added' : 'moved', head)];
    const isElsewhere = numbers.has(before.number + 1) && head.number !== before.number + 1;
    return [{ kind: isElsewhere ? 'moved' : 'missing', id: `head ${before.number + 1}`, at: before.at }];
  }
  return [];
}

function absent(list: readonly AuditHead[], known: KnownHead | undefined): Problem[] {
  if (!known) return [];
  const found = list.find(({ number }) => number === known.number);
  const last = list.at(-1);
  if (!found && last && last.number > known.number) return []; // pruned, or named above
  if (!found) return [{ kind: 'missing', id: `head ${known.number}`, at: last?.at ?? '' }];
  return known.hash === undefined || hashOfHead(found) === known.hash ? [] : [headProblem('changed', found)];
}

function newest<Part>(list: readonly AuditHead[], pick: (head: AuditHead) => Part | undefined): Part | undefined {
  return list.map(pick).findLast((part) => part !== undefined);
}
