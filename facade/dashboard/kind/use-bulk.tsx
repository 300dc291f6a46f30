import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { number, text } from '../app.ts';
import { ChooseAll, ChooseRow, type Choosing } from '../components/row-selection.tsx';
import { useAction, withToast } from '../ui.ts';
import { ManyBar, useManyTools } from './bulk.tsx';
import type { ReadAll } from './rows.ts';
import { idOf, type KindSpec, type Row, titleOf } from './spec.ts';

interface Listed {
  readonly shown: readonly Row[];
  readonly readAll: ReadAll;
  /** Whether more match than are loaded. */
  readonly hasMore: boolean;
  /** How many match, where that is known. */
  readonly total: number | undefined;
}

type Many = Readonly<{ choosing: Choosing<Row> | undefined; bar: ComponentChildren }>;

/** The records that are selected in a list, and the bar with what can be done to them. Another filter selects none. */
export function useMany(spec: KindSpec, { shown, readAll, hasMore, total }: Listed): Many {
  const tools = useManyTools(spec);
  const { key } = readAll;
  const [kept, setKept] = useState({ key, chosen: NONE });
  const chosen = kept.key === key ? kept.chosen : NONE;
  const change = (next: (before: ReadonlyMap<string, Row>) => ReadonlyMap<string, Row>) =>
    setKept((now) => ({ key, chosen: next(now.key === key ? now.chosen : NONE) }));
  const last = useRef<string | undefined>(undefined);
  const keyed = (rows: readonly Row[]) => rows.map((row) => [idOf(spec, row), row] as const);
  const choose = (rows: readonly Row[]) => change(() => new Map(keyed(rows)));
  const reading = useReadAll(readAll, choose);
  // Who comes back to a filter finds nothing selected.
  useEffect(() => setKept((now) => (now.key === key ? now : { key, chosen: NONE })), [key]);
  if (!tools) return { choosing: undefined, bar: undefined };
  const loaded = new Map(keyed(shown));
  const rows = [...chosen].map(([id, row]) => loaded.get(id) ?? row); // as it is now, with its revision
  const onChoose: Choosing<Row>['onChoose'] = (some, adds) =>
    change((before) => {
      const changed = keyed(some);
      if (adds) return new Map([...before, ...changed]);
      const gone = new Set(changed.map(([id]) => id));
      return new Map([...before].filter(([id]) => !gone.has(id)));
    });
  const words = `Select all ${total === undefined ? '' : `${number(total)} `}that match`;
  const isPart = hasMore && (total === undefined || chosen.size < total);
  const all = reading.busy
    ? { ...reading, text: `${text.loading} ${number(reading.count)}` }
    : { ...reading, text: words };
  return {
    choosing: {
      isChosen: (row) => chosen.has(idOf(spec, row)),
      nameOf: (row) => titleOf(spec, row),
      last,
      onChoose,
      All: ChooseAll,
      One: ChooseRow,
    },
    bar: rows.length > 0 && (
      <ManyBar {...{ spec, tools, rows }} onLeft={choose} all={isPart || reading.busy ? all : undefined} />
    ),
  };
}

const NONE: ReadonlyMap<string, Row> = new Map();

/** Reads all that match, and how many are there so far. What was read for another filter counts for nothing. */
function useReadAll(readAll: ReadAll, onRead: (rows: readonly Row[]) => void) {
  const [count, setCount] = useState(0);
  const { busy, run } = useAction();
  const asked = useRef(readAll.key);
  asked.current = readAll.key;
  const read = async () => {
    const { key } = readAll;
    setCount(0);
    const rows = await readAll.run((read) => asked.current === key && setCount(read));
    if (asked.current === key) onRead(rows);
  };
  return { busy, count, run: () => void run(() => withToast(read)) };
}
