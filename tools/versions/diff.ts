import { diffLines } from 'diff';
import { create, type Delta } from 'jsondiffpatch';
import type { VersionDiff } from '../../resources/version.ts';
import { contentOf, type Entity, type Payload } from '../versioning.ts';

const TEXT_DIFF_MS = 100;

type Change = NonNullable<VersionDiff['changes']>[number];
type Line = NonNullable<VersionDiff['lines']>[number];

/** What changed from one payload to the other: the text by lines where the entity is a text, other members by path. */
export function diffPayloads({ text }: Pick<Entity, 'text'>, from: Payload, to: Payload): VersionDiff {
  if (text === undefined) return { kind: 'json', changes: jsonChanges(from, to) };
  const { [text]: _, ...fromRest } = from;
  const { [text]: __, ...toRest } = to;
  const lines = textLines(contentOf({ text }, from), contentOf({ text }, to));
  return { kind: 'text', lines, changes: jsonChanges(fromRest, toRest) };
}

/** Line by line; two texts that are too unlike to compare in time are shown as all removed, all added. */
function textLines(from: string, to: string): Line[] {
  const parts = diffLines(from, to, { timeout: TEXT_DIFF_MS }) ?? [
    { value: from, removed: true, added: false },
    { value: to, removed: false, added: true },
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

const differ = create({
  // Array items are of any shape; those with an id or a name are the same item while that stays.
  objectHash(item) {
    const { id, name } = item as { id?: unknown; name?: unknown };
    return JSON.stringify(id ?? name ?? item);
  },
  arrays: { detectMove: false },
});

/** By JSON Pointer. An item of an array is named by its index before where it was removed, and after where it was added. */
function jsonChanges(from: Payload, to: Payload): Change[] {
  return walk(differ.diff(from, to), '');
}

function walk(delta: Delta, path: string): Change[] {
  if (delta === undefined) return [];
  if (Array.isArray(delta)) return [leaf(delta, path)];
  const isArray = '_t' in delta;
  return Object.entries(delta).flatMap(([key, inner]) => {
    if (isArray && key === '_t') return [];
    const name = isArray ? key.replace(/^_/, '') : key;
    return walk(inner as Delta, `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`); // members of a delta are deltas
  });
}

/** jsondiffpatch writes [after] for added, [before, after] for changed, [before, 0, 0] for removed. */
function leaf(delta: readonly unknown[], path: string): Change {
  const [first, second] = delta;
  if (delta.length === 1) return { path, after: first };
  if (delta.length === 2) return { path, before: first, after: second };
  return { path, before: first };
}
