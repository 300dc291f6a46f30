import type { ComponentChildren } from 'preact';
import { labelOf, number, useLocation, useMay, useTool, wordOf } from '../app.ts';
import { FilterBar, FilterChoice, FilterText } from '../components/filters.tsx';
import { useLive } from '../live-updates.ts';
import { Avatar, type Column, Empty, FilteredRows, LinkButton, PageHead } from '../ui.ts';
import { useColumns } from './columns.tsx';
import { LookedAt } from './found-rows.tsx';
import { type Filter, filtersOf, useRows } from './rows.ts';
import { type Orders, orderOptions, ordersOf, SORT, sortedBy } from './sorting.ts';
import { idOf, type KindSpec, keptQuery, makingOf, pathOf, type Row, titleOf } from './spec.ts';
import { useMany } from './use-bulk.tsx';
import { ViewButton } from './view-button.tsx';

/** The list of a kind, filtered as far as its list tool filters. */
export function ListPane({ spec, open }: { readonly spec: KindSpec; readonly open: string | undefined }) {
  const tool = useTool(`list_${spec.many}`);
  const { query } = useLocation();
  const { headControls: HeadControls, headNote: HeadNote } = spec;
  const filters = filtersOf(tool?.inputSchema);
  const orders = ordersOf(tool, query);
  const { shown, look, lookedAt, readAll, isRanked, ...pages } = useRows(spec, tool, filters, query, orders.chosen);
  const { rows, more, total } = pages;
  const hasMore = more !== undefined || lookedAt !== undefined;
  const columns = useColumns(spec, rows);
  const table = sortedBy([nameColumn(spec), ...columns.columns], orders);
  const many = useMany(spec, { shown, readAll, hasMore, total: shown === rows ? total : undefined });
  useLive([`${spec.one.replaceAll('_', '-')}://`]);
  const isFiltered = [{ name: 'q' }, ...filters, ...(spec.filters ?? [])].some(({ name }) => query.has(name));
  const noMatch = <Empty title={`No ${spec.words.many} match`}>Change or clear the filter.</Empty>;
  return (
    <section class="list-pane" aria-label={spec.words.many}>
      <PageHead
        title={spec.words.many.charAt(0).toUpperCase() + spec.words.many.slice(1)}
        count={rows.length > 0 && counts(shown.length, rows.length, total, more !== undefined)}
      >
        {HeadControls && <HeadControls />}
        <NewButton spec={spec} look="primary" />
      </PageHead>
      {HeadNote && <HeadNote />}
      <Filters filters={filters} spec={spec}>
        {orders.all.length > 0 && !isRanked && (
          <OrderChoice orders={orders} isInHead={table.sorting.by !== undefined} />
        )}
        <ViewButton spec={spec} {...columns} />
      </Filters>
      {many.bar}
      <FilteredRows
        label={spec.words.many}
        columns={table.columns}
        sorting={isRanked ? undefined : table.sorting}
        pages={{ ...pages, rows: shown, loading: pages.loading || !tool }}
        keyOf={(row) => idOf(spec, row)}
        to={(row) => `${pathOf(spec, row)}${keptQuery(query)}`}
        picked={open}
        onLook={look}
        choosing={many.choosing}
        none={!lookedAt && (isFiltered ? noMatch : <NoneYet spec={spec} />)}
      />
      {lookedAt && (
        <LookedAt
          onMore={lookedAt.onMore}
          words={`${orders.chosen ? 'first' : 'newest'} ${number(lookedAt.count)} ${spec.words.many}`}
        />
      )}
    </section>
  );
}

function NewButton({ spec, look }: Readonly<{ spec: KindSpec; look?: 'primary' }>) {
  const to = `${spec.path}/new`;
  return <LinkButton needs={`create_${spec.one}`} text={makingOf(spec).title} icon="plus" look={look} to={to} />;
}

/** How many there are; of a part that is shown, how many of those that are loaded. */
function counts(shown: number, loaded: number, total: number | undefined, more: boolean): string {
  if (shown === loaded && total !== undefined) return number(total);
  return `${number(shown)}${more ? '+' : ''}`;
}

export function NoneYet({ spec }: { readonly spec: KindSpec }) {
  const { source, empty } = spec;
  const mayCreate = useMay(`create_${spec.one}`);
  const bring = !mayCreate && source && <LinkButton icon="import" {...source} />;
  return (
    <Empty title={`No ${spec.words.many} yet`} action={bring || <NewButton spec={spec} />}>
      {empty}
    </Empty>
  );
}

type OrderChoiceProps = Readonly<{ orders: Orders; isInHead: boolean }>;

/** The order of the rows, where the head of the table does not show it: on a phone, or where the column is hidden. */
function OrderChoice({ orders, isInHead }: OrderChoiceProps) {
  const isShown = orders.chosen !== undefined && !isInHead;
  return (
    <span class={isShown ? 'order-choice shown' : 'order-choice'}>
      <FilterChoice name={SORT} label="Sort by" options={orderOptions(orders)} />
    </span>
  );
}

type FiltersProps = Readonly<{ filters: readonly Filter[]; spec: KindSpec; children: ComponentChildren }>;

function Filters({ filters, spec, children }: FiltersProps) {
  const { query } = useLocation();
  const set = [...filters, ...(spec.filters ?? [])].filter(({ name }) => query.has(name)).length;
  return (
    <FilterBar find={<FilterText label={`Filter ${spec.words.many}`} />} set={set}>
      {filters.map(({ name, options }) => (
        <FilterChoice
          key={name}
          name={name}
          label={labelOf(name)}
          options={options.map((value) => ({ value, label: filterWords(name, value) }))}
        />
      ))}
      {spec.filters?.map((filter) => (
        <FilterChoice key={filter.name} {...filter} />
      ))}
      {children}
    </FilterBar>
  );
}

function filterWords(name: string, value: string): string {
  if (value === 'true') return `${labelOf(name)}: yes`;
  return value === 'false' ? `${labelOf(name)}: no` : wordOf(value);
}

function nameColumn(spec: KindSpec): Column<Row> {
  return spec.first ?? { title: 'Name', member: spec.title, cell: (row) => <Name spec={spec} row={row} /> };
}

/** Of what stands below a title, so many characters are enough. */
const MOST_SAID = 200;

function Name({ spec, row }: { readonly spec: KindSpec; readonly row: Row }) {
  const title = titleOf(spec, row);
  const said = spec.subtitle ? row[spec.subtitle] : undefined;
  return (
    <span class="name">
      {spec.avatar && <Avatar name={title} />}
      <span class="name-words">
        <span class="name-title" title={title}>
          {title}
        </span>
        {said !== undefined && said !== '' && (
          <span class="name-more" title={String(said).slice(0, MOST_SAID)}>
            {String(said).slice(0, MOST_SAID)}
          </span>
        )}
      </span>
    </span>
  );
}
