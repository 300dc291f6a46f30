import type { ComponentChildren } from 'preact';
import { labelOf } from '../format.ts';
import { Empty } from './small.tsx';

export interface DiffLine {
  readonly op: 'equal' | 'add' | 'remove';
  readonly value: string;
}

/** What `diff_version` answers. */
export interface DiffAnswer {
  readonly kind: 'text' | 'json';
  readonly lines?: readonly DiffLine[];
  readonly changes?: readonly { readonly path: string; readonly before?: unknown; readonly after?: unknown }[];
  readonly leftOut?: {
    readonly equalLines: number;
    readonly lines: number;
    readonly values: number;
    readonly changes: number;
  };
}

/** Before and after, side by side. */
export function Diff({ diff }: { readonly diff: DiffAnswer }) {
  const isEmpty = (diff.lines?.every(({ op }) => op === 'equal') ?? true) && (diff.changes?.length ?? 0) === 0;
  if (isEmpty) return <Empty title="Nothing differs">Both states are the same.</Empty>;
  const isFirst =
    diff.changes?.every(({ before }) => before === undefined) && !diff.lines?.some(({ op }) => op !== 'add');
  return (
    <div class={isFirst ? 'diff first' : 'diff'}>
      <div class="diff-head" aria-hidden="true">
        {!isFirst && <span>Before</span>}
        <span>{isFirst ? 'As it began' : 'After'}</span>
      </div>
      {diff.lines && <Sides rows={sideBySide(diff.lines)} />}
      {diff.changes?.map(({ path, before, after }) => (
        <section key={path} class="diff-change" aria-label={nameOf(path)}>
          <h2>{nameOf(path)}</h2>
          <ChangedValue before={before} after={after} />
        </section>
      ))}
      {diff.leftOut && <p class="hint">Parts of a very long comparison are left out here.</p>}
    </div>
  );
}

/** Two states that can be told apart: texts line by line, other values whole. */
export function ChangedValue({ before, after }: { readonly before: unknown; readonly after: unknown }) {
  const [was, is] = [shown(before), shown(after)];
  return <Sides rows={sideBySide(linesOf(was, is))} />;
}

function shown(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}

/** `/identity/bio` -> `Identity › Bio`. */
function nameOf(pointer: string): string {
  const parts = pointer.split('/').slice(1);
  return parts.map((part) => labelOf(part.replaceAll('~1', '/').replaceAll('~0', '~'))).join(' › ') || 'Record';
}

interface SideRow {
  readonly left?: string | undefined;
  readonly right?: string | undefined;
  readonly changed: boolean;
}

function Sides({ rows }: { readonly rows: readonly SideRow[] }) {
  return (
    <div class="sides">
      {rows.map((row, index) => (
        <div class="side-row" key={`${index} ${row.changed}`}>
          <Cells {...row} />
        </div>
      ))}
    </div>
  );
}

/** The two halves of a row. Where a line was changed, the words that differ stand out. */
function Cells({ left, right, changed }: SideRow) {
  if (!changed) {
    return (
      <>
        <span class="side-cell">{left || ' '}</span>
        <span class="side-cell">{right || ' '}</span>
      </>
    );
  }
  const words = left !== undefined && right !== undefined ? wordsOf(left, right) : undefined;
  return (
    <>
      {left === undefined ? (
        <span class="side-cell none" />
      ) : (
        <del class="side-cell">{marked(words, 'remove') ?? (left || ' ')}</del>
      )}
      {right === undefined ? (
        <span class="side-cell none" />
      ) : (
        <ins class="side-cell">{marked(words, 'add') ?? (right || ' ')}</ins>
      )}
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

const MOST_COMPARED = 2000;

/** The lines of two texts, compared by the longest common subsequence; whole texts where that is too much work. */
export function linesOf(before: string, after: string): DiffLine[] {
  return compared(before === '' ? [] : before.split('\n'), after === '' ? [] : after.split('\n'));
}

function compared(a: readonly string[], b: readonly string[]): DiffLine[] {
  if (a.length * b.length > MOST_COMPARED * MOST_COMPARED) return [...all('remove', a), ...all('add', b)];
  const common = lengths(a, b);
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) {
      lines.push({ op: 'equal', value: a[i] ?? '' });
      i += 1;
      j += 1;
    } else if ((common[i + 1]?.[j] ?? 0) >= (common[i]?.[j + 1] ?? 0)) {
      lines.push({ op: 'remove', value: a[i] ?? '' });
      i += 1;
    } else {
      lines.push({ op: 'add', value: b[j] ?? '' });
      j += 1;
    }
  }
  return [...lines, ...all('remove', a.slice(i)), ...all('add', b.slice(j))];
}

function all(op: DiffLine['op'], values: readonly string[]): DiffLine[] {
  return values.map((value) => ({ op, value }));
}

/** How many lines the rests of both texts have in common, from each place on. */
function lengths(a: readonly string[], b: readonly string[]): Uint16Array[] {
  const table = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i -= 1) {
    const [row, below] = [table[i], table[i + 1]];
    if (!row || !below) continue;
    for (let j = b.length - 1; j >= 0; j -= 1) {
      row[j] = a[i] === b[j] ? (below[j + 1] ?? 0) + 1 : Math.max(below[j] ?? 0, row[j + 1] ?? 0);
    }
  }
  return table;
}
