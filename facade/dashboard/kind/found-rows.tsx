import type { ComponentChildren } from 'preact';
import { number, useLocation, useTool } from '../app.ts';
import { FilterText } from '../components/filters.tsx';
import { Button, type Column, Empty, FilteredRows } from '../ui.ts';
import { type ListedKind, useRows } from './rows.ts';
import type { Row } from './spec.ts';

interface FoundRowsProps<Shown extends Row> {
  readonly list: ListedKind;
  readonly columns: readonly Column<Shown>[];
  readonly to?: (row: Shown) => string;
  /** Shown where there are no rows at all. */
  readonly none: ComponentChildren;
}

/** A list within a page, narrowed by what is typed above it. */
export function FoundRows<Shown extends Row>({ list, columns, to, none }: FoundRowsProps<Shown>) {
  const { query } = useLocation();
  const tool = useTool(list.list);
  const { shown, lookedAt, ...pages } = useRows<Shown>(list, tool, [], query, undefined);
  const { many } = list.words;
  const noMatch = <Empty title={`No ${many} match`}>Change or clear the filter.</Empty>;
  return (
    <>
      <div class="filters">
        <FilterText label={`Filter ${many}`} />
      </div>
      <FilteredRows
        label={many.charAt(0).toUpperCase() + many.slice(1)}
        columns={columns}
        pages={{ ...pages, rows: shown, loading: pages.loading || !tool }}
        to={to}
        onLook={pages.look}
        none={!lookedAt && (query.has('q') ? noMatch : none)}
      />
      {lookedAt && <LookedAt {...lookedAt} words={`newest ${number(lookedAt.count)} ${many}`} />}
    </>
  );
}

type LookedAtProps = Readonly<{ words: string; onMore: () => void }>;

/** How far the rows were looked through, and the way on. */
export function LookedAt({ words, onMore }: LookedAtProps) {
  return (
    <p class="looked-at">
      <span class="quiet">{`Searched the ${words}. Press / to search everything.`}</span>
      <Button text="Search further" onClick={onMore} />
    </p>
  );
}
