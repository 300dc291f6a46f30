export type DiffLine = Readonly<{ op: 'equal' | 'add' | 'remove'; value: string }>;

const MOST_COMPARED = 2000;

/** The lines of two texts, compared by the longest common subsequence; whole texts where that is too much work. */
export function linesOf(before: string, after: string): DiffLine[] {
  return compared(before === '' ? [] : before.split('\n'), after === '' ? [] : after.split('\n'));
}

/** Two lists by what both have in the same order. */
export function compared(a: readonly string[], b: readonly string[]): DiffLine[] {
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
