import { diffArrays } from 'diff';
import { type ComponentChildren, Fragment } from 'preact';
import { labelOf } from '../format.ts';
import { asText, idsIn } from './as-text.ts';
import { Empty } from './small.tsx';
import { Ref } from './value.tsx';

interface Change {
  /** A JSON Pointer. */
  readonly path: string;
  readonly before?: unknown;
  readonly after?: unknown;
}

/** What `diff_version` answers. */
export interface DiffAnswer {
  readonly kind: 'text' | 'json';
  readonly lines?: readonly DiffLine[];
  readonly changes?: readonly Change[];
  readonly tools?: { readonly gained: readonly string[]; readonly lost: readonly string[] };
  /** How much of a very long comparison is not in it. */
  readonly leftOut?: object;
}

interface DiffProps {
  readonly diff: DiffAnswer;
  /** Whether there was nothing before. Where that is not known, it is what it looks like. */
  readonly isFirst?: boolean;
}

/** Before and after, side by side. */
export function Diff({ diff, isFirst = looksFirst(diff) }: DiffProps) {
  const isEmpty = (diff.lines?.every(({ op }) => op === 'equal') ?? true) && (diff.changes?.length ?? 0) === 0;
  if (isEmpty) return <Empty title="Nothing differs">Both states are the same.</Empty>;
  const changes = byList(diff.changes ?? []).filter(({ path }) => !isFirst || !BOOKKEEPING.includes(path));
  return (
    <div class={isFirst ? 'diff first' : 'diff'}>
      <div class="diff-head" aria-hidden="true">
        {!isFirst && <span>Before</span>}
        <span>{isFirst ? 'As it began' : 'After'}</span>
      </div>
      {diff.lines && <Sides rows={sideBySide(diff.lines)} />}
      {changes.map(({ path, before, after }) => (
        <section key={path} class="diff-change" aria-label={nameOf(path)}>
          <h2>{nameOf(path)}</h2>
          <ChangedValue before={before} after={after} />
        </section>
      ))}
      {diff.tools && diff.tools.gained.length > 0 && (
        <p>
          <strong>It may also call</strong> {diff.tools.gained.join(', ')}
        </p>
      )}
      {diff.tools && diff.tools.lost.length > 0 && (
        <p>
          <strong>It may no longer call</strong> {diff.tools.lost.join(', ')}
        </p>
      )}
      {diff.leftOut && <p class="hint">Parts of a very long comparison are left out here.</p>}
    </div>
  );
}

function looksFirst({ changes, lines }: DiffAnswer): boolean {
  const isAdded = ({ path, before }: Change) => before === undefined && !IN_LIST.test(path);
  return (changes?.every(isAdded) ?? true) && !lines?.some(({ op }) => op !== 'add');
}

const IN_LIST = /^(.+)\/\d+$/;

/** What came to a list and what left it as one change, each with the items that did. */
function byList(changes: readonly Change[]): readonly Change[] {
  const lists = new Map<string, { before: unknown[]; after: unknown[] }>();
  const found: Change[] = [];
  for (const change of changes) {
    const [, list] = IN_LIST.exec(change.path) ?? [];
    const { before, after } = change;
    if (list === undefined || (before !== undefined && after !== undefined)) {
      found.push(change);
      continue;
    }
    const items = lists.get(list) ?? { before: [], after: [] };
    if (!lists.has(list)) found.push({ path: list, ...items });
    lists.set(list, items);
    if (before !== undefined) items.before.push(before);
    if (after !== undefined) items.after.push(after);
  }
  return found;
}

/** What every record begins with says nothing. */
const BOOKKEEPING = ['/id', '/createdAt', '/updatedAt', '/revision'];

/** Two states that can be told apart: texts line by line, other values in words, with the names of the records that they refer to. */
export function ChangedValue({ before, after }: { readonly before: unknown; readonly after: unknown }) {
  const isText = [before, after].some((value) => typeof value === 'string' && idsIn(value)[0] !== value);
  return <Sides rows={sideBySide(linesOf(asText(before), asText(after)))} named={!isText} />;
}

/** `/identity/bio` -> `Identity › Bio`; items of lists count from 1. */
function nameOf(pointer: string): string {
  const parts = pointer.split('/').slice(1);
  const worded = (part: string) =>
    /^\d+$/.test(part) ? String(Number(part) + 1) : labelOf(part.replaceAll('~1', '/').replaceAll('~0', '~'));
  return parts.map(worded).join(' › ') || 'Record';
}

type SideRow = Readonly<{ left?: string | undefined; right?: string | undefined; changed: boolean }>;

interface SidesProps {
  readonly rows: readonly SideRow[];
  /** Whether ids in it are shown as the names of their records. Texts stay as they were written. */
  readonly named?: boolean;
}

function Sides({ rows, named = false }: SidesProps) {
  return (
    <div class={named ? 'sides words' : 'sides'}>
      {rows.map((row, index) => (
        <div class="side-row" key={`${index} ${row.changed}`}>
          <Cells {...row} named={named} />
        </div>
      ))}
    </div>
  );
}

/** The two halves of a row. Where a line was changed, the words that differ stand out. */
function Cells({ left, right, changed, named }: SideRow & { readonly named: boolean }) {
  const plain = (line: string) => (named ? <Named line={line} /> : line) || ' ';
  if (!changed) {
    return (
      <>
        <span class="side-cell">{plain(left ?? '')}</span>
        <span class="side-cell">{plain(right ?? '')}</span>
      </>
    );
  }
  const hasIds = named && [left, right].some((line) => line !== undefined && idsIn(line).length > 0);
  const words = left !== undefined && right !== undefined && !hasIds ? wordsOf(left, right) : undefined;
  return (
    <>
      {left === undefined ? (
        <span class="side-cell none" />
      ) : (
        <del class="side-cell">{marked(words, 'remove') ?? plain(left)}</del>
      )}
      {right === undefined ? (
        <span class="side-cell none" />
      ) : (
        <ins class="side-cell">{marked(words, 'add') ?? plain(right)}</ins>
      )}
    </>
  );
}

/** A line with names in place of ids, leading to the records. */
function Named({ line }: { readonly line: string }) {
  const ids = idsIn(line);
  if (ids.length === 0) return line || ' ';
  const between = line.split(new RegExp(ids.join('|')));
  return (
    <>
      {between.map((words, index) => (
        <Fragment key={index}>
          {words}
          {ids[index] !== undefined && <Ref id={ids[index]} />}
        </Fragment>
      ))}
    </>
  );
}

/** The words of both lines, compared; nothing where they have little in common. */
function wordsOf(left: string, right: string): readonly DiffLine[] | undefined {
  const words = compared(split(left), split(right));
  const same = words.filter(({ op }) => op === 'equal').reduce((sum, { value }) => sum + value.length, 0);
  return same * 3 > Math.max(left.length, right.length) ? words : undefined;
}

function split(line: string): string[] {
  return line.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? [];
}

function marked(words: readonly DiffLine[] | undefined, op: 'add' | 'remove'): ComponentChildren {
  return words
    ?.filter((word) => word.op === 'equal' || word.op === op)
    .map(({ op: own, value }) => (own === 'equal' ? value : <mark>{value}</mark>));
}

/** Removed lines stand beside the added ones that follow them. */
function sideBySide(lines: readonly DiffLine[]): SideRow[] {
  const rows: SideRow[] = [];
  let removed: string[] = [];
  let added: string[] = [];
  const flush = () => {
    for (let at = 0; at < Math.max(removed.length, added.length); at += 1) {
      rows.push({ left: removed[at], right: added[at], changed: true });
    }
    [removed, added] = [[], []];
  };
  for (const { op, value } of lines) {
    if (op === 'remove') removed.push(value);
    else if (op === 'add') added.push(value);
    else {
      flush();
      rows.push({ left: value, right: value, changed: false });
    }
  }
  flush();
  return rows;
}

type DiffLine = Readonly<{ op: 'equal' | 'add' | 'remove'; value: string }>;

/** As many changes are looked for; where there are more, whole texts differ. */
const MOST_CHANGES = 2000;

/** The lines of two texts by what both have in the same order. */
export function linesOf(before: string, after: string): DiffLine[] {
  return compared(before === '' ? [] : before.split('\n'), after === '' ? [] : after.split('\n'));
}

/** Two lists by what both have in the same order. */
export function compared(before: readonly string[], after: readonly string[]): DiffLine[] {
  const changes = diffArrays([...before], [...after], { maxEditLength: MOST_CHANGES }) ?? [
    { value: before, removed: true, added: false },
    { value: after, removed: false, added: true },
  ];
  return changes.flatMap(({ value, added, removed }) => {
    const op = added ? 'add' : removed ? 'remove' : 'equal';
    return value.map((one) => ({ op, value: one }) as const);
  });
}
