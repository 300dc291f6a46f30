import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { at, go } from '../router.ts';
import { text } from '../text.ts';
import type { Pages } from '../use-paged-list.ts';
import { Button } from './button.tsx';
import { ErrorBox } from './error-box.tsx';
import { Icon } from './icon.tsx';
import type { Choosing } from './row-selection.tsx';
import { Skeleton } from './small.tsx';

export interface Column<Row> {
  /** Tells it from the others. */
  readonly title: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Numbers and times stand at the end. */
  readonly alignEnd?: boolean;
  /** Left out first where there is little room: 1 stays longest. Without it, the column always stays. */
  readonly hidePriority?: 1 | 2 | 3;
  readonly width?: string;
  /** The server can sort all rows by it. */
  readonly sorts?: boolean;
  /** What it shows of a record, as the list tool names it. */
  readonly member?: string;
}

/** By which column rows are sorted, by its title. */
export interface Sorting {
  readonly by: string | undefined;
  readonly isDescending: boolean;
  readonly onSort: (title: string) => void;
}

interface TableProps<Row> {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** Where a row leads to. Its first cell is the link; a click anywhere in the row follows it. */
  readonly to?: ((row: Row) => string) | undefined;
  readonly picked?: string | undefined;
  /** Where there is more: fetched when the end comes into view, or by the button. */
  readonly onMore?: (() => void) | undefined;
  readonly loading?: boolean;
  /** Boxes before the rows, by which several are selected. */
  readonly choosing?: Choosing<Row> | undefined;
  /** Where columns sort. */
  readonly sorting?: Sorting | undefined;
  /** Told which rows are drawn. */
  readonly onLook?: ((from: number, to: number) => void) | undefined;
}

/** Rows beyond this are drawn only where they are looked at. */
const DRAWN_AT_ONCE = 150;
const MARGIN = 30;

/** A table of any length: beyond a few screens, only the rows in view and around it are drawn. */
export function Table<Row>(props: TableProps<Row>) {
  const { label, columns, rows, onMore, loading = false, choosing } = props;
  const body = useRef<HTMLTableSectionElement>(null);
  const [from, to, height] = useWindow(body, rows.length);
  const width = columns.length + (choosing ? 1 : 0);
  props.onLook?.(from, to);
  return (
    <div class="table-box">
      <table class="table" aria-label={label} aria-rowcount={onMore ? -1 : rows.length + 1} aria-busy={loading}>
        <Head {...props} />
        <tbody ref={body}>
          {from > 0 && <Spacer height={from * height} columns={width} />}
          {rows.slice(from, to).map((row, index) => (
            <TableRow key={props.keyOf(row)} {...props} row={row} index={from + index} />
          ))}
          {to < rows.length && <Spacer height={(rows.length - to) * height} columns={width} />}
        </tbody>
      </table>
      {onMore && <LoadMore onMore={onMore} loading={loading} count={rows.length} />}
    </div>
  );
}

function Spacer({ height, columns }: { readonly height: number; readonly columns: number }) {
  return (
    <tr class="spacer">
      <td colSpan={columns} style={{ height: `${height}px` }} />
    </tr>
  );
}

function Head<Row>({ columns, choosing, sorting, rows, keyOf }: TableProps<Row>) {
  return (
    <thead>
      <tr>
        {choosing && <choosing.All {...{ choosing, rows, keyOf }} />}
        {columns.map(({ title, width, sorts, ...column }) => (
          <th
            key={title}
            scope="col"
            class={classOf(column)}
            style={width === undefined ? {} : { width }}
            aria-sort={sorting?.by === title ? (sorting.isDescending ? 'descending' : 'ascending') : undefined}
          >
            {sorts && sorting ? <SortButton title={title} {...sorting} /> : title}
          </th>
        ))}
      </tr>
    </thead>
  );
}

function SortButton({ title, by, isDescending, onSort }: Sorting & { readonly title: string }) {
  return (
    <button type="button" class="sort" onClick={() => onSort(title)}>
      {title}
      {by === title && <Icon name={isDescending ? 'down' : 'up'} />}
    </button>
  );
}

function TableRow<Row>({
  row,
  index,
  columns,
  rows,
  keyOf,
  to,
  picked,
  choosing,
}: TableProps<Row> & { readonly row: Row; readonly index: number }) {
  const path = to?.(row);
  const follow = (event: MouseEvent) => {
    if (path === undefined || event.defaultPrevented || getSelection()?.isCollapsed === false) return;
    if (event.target instanceof Element && event.target.closest('a, button, input, select, label')) return;
    if (event.metaKey || event.ctrlKey) window.open(at(path));
    else go(path);
  };
  return (
    <tr
      class={keyOf(row) === picked ? 'picked' : ''}
      aria-rowindex={index + 2}
      data-link={path !== undefined}
      onClick={follow}
    >
      {choosing && <choosing.One {...{ choosing, rows, keyOf, row }} />}
      {columns.map((column, place) => (
        <td key={column.title} class={classOf(column)}>
          {place === 0 && path !== undefined ? (
            <a class="row-link" href={at(path)} aria-current={keyOf(row) === picked ? 'true' : undefined}>
              {column.cell(row)}
            </a>
          ) : (
            column.cell(row)
          )}
        </td>
      ))}
    </tr>
  );
}

function classOf({ alignEnd, hidePriority }: Pick<Column<never>, 'alignEnd' | 'hidePriority'>): string {
  return `${alignEnd ? 'end' : ''} ${hidePriority ? `spare-${hidePriority}` : ''}`.trim();
}

interface LoadMoreProps {
  readonly onMore: () => void;
  readonly loading: boolean;
  /** The rows that are there: after each addition it may be in view again. */
  readonly count: number;
}

/** Fetches more when it comes into view. */
export function LoadMore({ onMore, loading, count }: LoadMoreProps) {
  const ref = useRef<HTMLDivElement>(null);
  const latest = useRef(onMore);
  latest.current = onMore;
  useEffect(() => {
    if (!ref.current || loading) return undefined;
    // A busy browser tells several changes at once; the last one holds.
    const observer = new IntersectionObserver((changes) => changes.at(-1)?.isIntersecting && latest.current(), {
      rootMargin: '400px',
    });
    observer.observe(ref.current);
    return () => observer.disconnect();
  }, [loading, count]);
  return (
    <div class="load-more" ref={ref}>
      <Button text={text.loadMore} busy={loading} onClick={onMore} />
    </div>
  );
}

/** The part of the rows to draw, and how high a row is. */
function useWindow(
  body: { readonly current: HTMLTableSectionElement | null },
  count: number,
): [number, number, number] {
  const [range, setRange] = useState<[number, number, number]>([0, DRAWN_AT_ONCE, 0]);
  useEffect(() => {
    if (count <= DRAWN_AT_ONCE) return undefined;
    const look = () => {
      const row = body.current?.querySelector('tr:not(.spacer)')?.getBoundingClientRect().height ?? 40;
      const top = body.current?.getBoundingClientRect().top ?? 0;
      const first = Math.max(0, Math.floor(-top / row) - MARGIN);
      const last = Math.ceil((innerHeight - top) / row) + MARGIN;
      // Steps, so that not every pixel of scrolling draws the table again.
      setRange((before) => {
        const next: [number, number, number] = [first - (first % 10), last + 10 - (last % 10), row];
        return before.every((value, index) => value === next[index]) ? before : next;
      });
    };
    look();
    addEventListener('scroll', look, { capture: true, passive: true });
    addEventListener('resize', look);
    return () => {
      removeEventListener('scroll', look, { capture: true });
      removeEventListener('resize', look);
    };
  }, [count, body]);
  return count <= DRAWN_AT_ONCE ? [0, count, 0] : range;
}

interface PagedTableProps<Row> extends Pick<TableProps<Row>, 'label' | 'columns' | 'to' | 'picked' | 'sorting'> {
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

type FilteredRowsProps<Row> = Omit<TableProps<Row>, 'keyOf' | 'rows' | 'onMore' | 'loading'> &
  Pick<PagedTableProps<Row>, 'keyOf' | 'none'> &
  Readonly<{ pages: Pick<Pages<Row>, 'rows' | 'loading' | 'error' | 'more'> }>;

/** The rows of a list pane, below its filters. Rows that are loaded stay beside an error. */
export function FilteredRows<Row>({ pages, keyOf = idOf, none, ...table }: FilteredRowsProps<Row>) {
  const { rows, loading, error, more } = pages;
  return (
    <>
      {error && <ErrorBox error={error} />}
      {rows.length > 0 || more ? (
        <Table {...table} rows={rows} keyOf={keyOf} onMore={more} loading={loading} />
      ) : loading ? (
        <div class="pad">
          <Skeleton lines={6} />
        </div>
      ) : (
        !error && none
      )}
    </>
  );
}

function idOf(row: unknown): string {
  return String((row as { readonly id?: unknown }).id); // records have one
}
