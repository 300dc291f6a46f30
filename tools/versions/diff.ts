import { diffLines } from 'diff';
import { create, type Delta } from 'jsondiffpatch';
import type { VersionDiff } from '../../resources/version.ts';

export const TEXT_DIFF_MS = 1000;

type Change = NonNullable<VersionDiff['changes']>[number];
type Line = NonNullable<VersionDiff['lines']>[number];

type Members = Readonly<Record<string, unknown>>;

export interface State {
  readonly text?: string | undefined;
  readonly members: Members;
}

/** What changed between the states: for a text by lines, for other members by path. */
export function diffStates(from: State, to: State): VersionDiff {
  const changes = jsonChanges(from.members, to.members);
  if (from.text === undefined || to.text === undefined) return truncateDiff({ kind: 'json', changes });
  return truncateDiff({ kind: 'text', lines: textLines(from.text, to.text), changes });
}

interface Compared {
  readonly value: string;
  readonly added?: boolean;
  readonly removed?: boolean;
}

/** Compares line by line. Texts that are too different to compare in time are shown as all removed and all added. */
function textLines(from: string, to: string): Line[] {
  const parts: readonly Compared[] = diffLines(from, to, { timeout: TEXT_DIFF_MS }) ?? [
    { value: from, removed: true },
    { value: to, added: true },
  ];
  return parts.flatMap(({ value, added, removed }) => {
    const op = added ? 'add' : removed ? 'remove' : 'equal';
    return linesOf(value).map((line) => ({ op, value: line }) as const);
  });
}

function linesOf(text: string): string[] {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

/** The number of pairs of items that one diff compares. An array that needs more is reported as changed as a whole. */
export const MOST_PAIRS = 500_000;

function createDiffer() {
  let left = MOST_PAIRS;
  const differ = create({ objectHash, arrays: { detectMove: false } });
  const bounded: Bounded = Object.assign(
    (context: Parameters<Bounded>[0]) => {
      if (!Array.isArray(context.left) || !Array.isArray(context.right)) return;
      const pairs = pairsIn(context.left, context.right);
      if (pairs <= left) left -= pairs;
      else context.setResult([context.left, context.right]).exit();
    },
    { filterName: 'bounded' },
  );
  differ.processor.pipes.diff.before('arrays', bounded);
  return differ;
}

type Bounded = Parameters<ReturnType<typeof create>['processor']['pipes']['diff']['before']>[1];

/** Array items can have any shape. Items with the same id or name count as the same item. */
function objectHash(item: object | null | undefined): string {
  const { id, name } = (item ?? {}) as { id?: unknown; name?: unknown };
  return JSON.stringify(id ?? name ?? item);
}

/** The number of pairs, without the equal items at both ends. */
function pairsIn(from: readonly unknown[], to: readonly unknown[]): number {
  const isSame = (a: unknown, b: unknown) =>
    a === b || (typeof a === 'object' && typeof b === 'object' && objectHash(a) === objectHash(b));
  const shorter = Math.min(from.length, to.length);
  let head = 0;
  while (head < shorter && isSame(from[head], to[head])) head += 1;
  let tail = 0;
  while (tail < shorter - head && isSame(from.at(-1 - tail), to.at(-1 - tail))) tail += 1;
  return (from.length - head - tail) * (to.length - head - tail);
}

/** Changes by JSON Pointer. A removed item of an array has its index before the change, an added one its index after the change. */
function jsonChanges(from: Members, to: Members): Change[] {
  return walk(createDiffer().diff(bare(from), bare(to)), '');
}

/** The value with objects that inherit nothing. Otherwise a member named `constructor` would be mistaken for the inherited one. */
function bare(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(bare);
  if (typeof value !== 'object' || value === null) return value;
  return Object.assign(Object.create(null), mapped(value, bare));
}

function whole(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(whole);
  return typeof value === 'object' && value !== null ? mapped(value, whole) : value;
}

function mapped(value: object, change: (item: unknown) => unknown): object {
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, change(item)]));
}

function walk(delta: Delta, path: string): Change[] {
  if (delta === undefined) return [];
  if (Array.isArray(delta)) return [leaf(delta, path)];
  const isArray = '_t' in delta && delta._t === 'a';
  return Object.entries(delta).flatMap(([key, inner]) => {
    if (isArray && key === '_t') return [];
    const name = isArray ? key.replace(/^_/, '') : key;
    return walk(inner as Delta, `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`); // members of a delta are deltas
  });
}

/** jsondiffpatch writes [after] for added, [before, after] for changed, and [before, 0, 0] for removed. */
function leaf(delta: readonly unknown[], path: string): Change {
  const [first, second] = delta.slice(0, 2).map(whole);
  if (delta.length === 1) return { path, after: first };
  if (delta.length === 2) return { path, before: first, after: second };
  return { path, before: first };
}

/** Largest diff, in characters of JSON. */
export const LARGEST = 1024 * 1024;
/** Unchanged lines that are kept around a change, where not all of them fit. */
const AROUND = 3;

/** The diff, shortened to fit into an answer. Unchanged lines are left out first, then whatever is at the end. */
function truncateDiff({ kind, lines, changes = [] }: VersionDiff): VersionDiff {
  const whole = sizeOfLines(lines) + sizeOfChanges(changes);
  if (whole <= LARGEST) return { kind, ...(lines && { lines }), changes };
  const near = lines && nearChanges(lines);
  const changed = fittingChanges(changes, Math.max(LARGEST - sizeOfLines(near), LARGEST / 2));
  const kept = near && firstLines(near, LARGEST - sizeOfChanges(changed));
  return {
    kind,
    ...(kept && { lines: kept }),
    changes: changed,
    leftOut: {
      equalLines: (lines?.length ?? 0) - (near?.length ?? 0),
      lines: (near?.length ?? 0) - (kept?.length ?? 0),
      values: changed.filter((change, at) => Object.keys(change).length < Object.keys(changes[at] ?? {}).length).length,
      changes: changes.length - changed.length,
    },
  };
}

function nearChanges(lines: readonly Line[]): Line[] {
  const near = new Set<number>();
  for (const [at, { op }] of lines.entries()) {
    if (op === 'equal') continue;
    for (let other = at - AROUND; other <= at + AROUND; other += 1) near.add(other);
  }
  return lines.filter((_, at) => near.has(at));
}

function firstLines(lines: readonly Line[], room: number): Line[] {
  let size = 0;
  const end = lines.findIndex((line) => {
    size += sizeOf(line);
    return size > room;
  });
  return end < 0 ? [...lines] : lines.slice(0, end);
}

/** A change whose values do not fit is reported with its path only. */
function fittingChanges(changes: readonly Change[], room: number): Change[] {
  const paths = changes.map(({ path }) => ({ path }));
  const first: Change[] = firstOf(paths, room);
  let left = room - sizeOfChanges(first);
  return first.map((bare, at) => {
    const change = changes[at] ?? bare;
    const more = sizeOf(change) - sizeOf(bare);
    if (more > left) return bare;
    left -= more;
    return change;
  });
}

function firstOf(changes: readonly Change[], room: number): Change[] {
  let size = 0;
  const end = changes.findIndex((change) => {
    size += sizeOf(change);
    return size > room;
  });
  return changes.slice(0, end < 0 ? undefined : end);
}

function sizeOfLines(lines: readonly Line[] = []): number {
  return lines.reduce((size, line) => size + sizeOf(line), 0);
}

function sizeOfChanges(changes: readonly Change[]): number {
  return changes.reduce((size, change) => size + sizeOf(change), 0);
}

/** Includes the comma after the item. */
function sizeOf(value: Line | Change): number {
  return JSON.stringify(value).length + 1;
}
