import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

/** The rows of a table that are selected, and how that changes. */
export interface Choosing<Row> {
  readonly isChosen: (row: Row) => boolean;
  readonly onChoose: (rows: readonly Row[], chosen: boolean) => void;
  /** What is said of a row to who does not see it. */
  readonly nameOf: (row: Row) => string;
  /** Where the last choice was made: from there a range goes. */
  readonly last: { current: string | undefined };
  /** `ChooseAll` and `ChooseRow`, which tables without a selection do not load. */
  readonly All: (props: BoxProps<Row>) => JSX.Element;
  readonly One: (props: BoxProps<Row> & { readonly row: Row }) => JSX.Element;
}

type BoxProps<Row> = Readonly<{ choosing: Choosing<Row>; rows: readonly Row[]; keyOf: (row: Row) => string }>;

/** Selects all rows that are there. */
export function ChooseAll<Row>({ choosing, rows }: BoxProps<Row>) {
  const box = useRef<HTMLInputElement>(null);
  const count = rows.filter(choosing.isChosen).length;
  useEffect(() => {
    if (box.current) box.current.indeterminate = count > 0 && count < rows.length;
  });
  return (
    <th class="choose">
      <label>
        <input
          ref={box}
          type="checkbox"
          aria-label="Select all that are loaded"
          checked={count > 0 && count === rows.length}
          onChange={() => choosing.onChoose(rows, count < rows.length)}
        />
      </label>
    </th>
  );
}

/** Selects one row; with Shift all from the last one to it. */
export function ChooseRow<Row>({ choosing, rows, keyOf, row }: BoxProps<Row> & { readonly row: Row }) {
  const isChosen = choosing.isChosen(row);
  const choose = (range: boolean) => {
    const from = range ? rows.findIndex((other) => keyOf(other) === choosing.last.current) : -1;
    const to = rows.indexOf(row);
    choosing.last.current = keyOf(row);
    choosing.onChoose(from < 0 ? [row] : rows.slice(Math.min(from, to), Math.max(from, to) + 1), !isChosen);
  };
  return (
    <td class="choose">
      <label>
        <input
          type="checkbox"
          aria-label={`Select ${choosing.nameOf(row)}`}
          checked={isChosen}
          onClick={({ shiftKey }) => choose(shiftKey)}
        />
      </label>
    </td>
  );
}
