import { diffArrays } from 'diff';

export type DiffLine = Readonly<{ op: 'equal' | 'add' | 'remove'; value: string }>;

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
