import type { ComponentChildren } from 'preact';
import type { Pages } from '../use-paged-list.ts';
import { ErrorBox } from './error-box.tsx';
import { Table, type TableProps } from './table.tsx';
import { Skeleton } from './waiting.tsx';

interface PagedTableProps<Row> extends Pick<TableProps<Row>, 'label' | 'columns' | 'to' | 'picked'> {
  readonly pages: Pages<Row>;
  /** Default: the id of the row. */
  readonly keyOf?: (row: Row) => string;
  /** Shown where there are no rows. */
  readonly none: ComponentChildren;
  /** As many grey lines stand in place of rows that are on their way. */
  readonly lines?: number;
}

/** A paged list as a table. In its place: an error, a skeleton while it loads, or the text for an empty list. */
export function PagedTable<Row>({ pages, none, lines = 4, keyOf = idOf, ...table }: PagedTableProps<Row>) {
  const { rows, loading, error, more } = pages;
  if (error) return <ErrorBox error={error} />;
  if (rows.length === 0) return <>{loading ? <Skeleton lines={lines} /> : none}</>;
  return <Table {...table} rows={rows} keyOf={keyOf} onMore={more} loading={loading} />;
}

function idOf(row: unknown): string {
  return String((row as { readonly id?: unknown }).id); // records have one
}
