import type { VersionDiff } from '../../resources/version.ts';

/** Largest diff, in characters of JSON. */
export const LARGEST = 1024 * 1024;
/** Unchanged lines that are kept around a change, where not all of them fit. */
const AROUND = 3;

type Line = NonNullable<VersionDiff['lines']>[number];
type Change = NonNullable<VersionDiff['changes']>[number];

/** The diff, shortened to fit into an answer. Unchanged lines are left out first, then whatever is at the end. */
export function truncateDiff({ kind, lines, changes = [] }: VersionDiff): VersionDiff {
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
