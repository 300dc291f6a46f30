import { useEffect, useState } from 'preact/hooks';
import {
  type ListedTool,
  labelOf,
  number,
  useDebounced,
  useLocation,
  useMay,
  usePagedList,
  useTool,
  wordOf,
} from '../app.ts';
import { FilterChoice, FilterText } from '../components/filters.tsx';
import { useLive } from '../live-updates.ts';
import { type JsonSchema, searchMemberOf, withoutNull } from '../schema.ts';
import { Avatar, Badge, Button, type Column, Empty, FilteredRows, LinkButton, PageHead, Time } from '../ui.ts';
import { idOf, type KindSpec, makingOf, pathOf, type Row, titleOf } from './spec.ts';

/** The list of a kind, filtered as far as its list tool filters. */
export function ListPane({ spec, open }: { readonly spec: KindSpec; readonly open: string | undefined }) {
  const tool = useTool(`list_${spec.many}`);
  const { query } = useLocation();
  const { headControls: HeadControls, headNote: HeadNote } = spec;
  const filters = filtersOf(tool?.inputSchema);
  const { shown, look, lookedAt, ...pages } = useRows(spec, tool, filters, query);
  const { rows, more, total } = pages;
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
      <Filters filters={filters} spec={spec} />
      <FilteredRows
        label={spec.words.many}
        columns={columnsOf(spec, tool?.outputSchema?.properties?.data?.items)}
        pages={{ ...pages, rows: shown, loading: pages.loading || !tool }}
        keyOf={(row) => idOf(spec, row)}
        to={(row) => `${pathOf(spec, row)}${keptQuery(query)}`}
        picked={open}
        onLook={look}
        none={!lookedAt && (isFiltered ? noMatch : <NoneYet spec={spec} />)}
      />
      {lookedAt && <LookedAt {...lookedAt} words={spec.words.many} />}
    </section>
  );
}

function NewButton({ spec, look }: Readonly<{ spec: KindSpec; look?: 'primary' }>) {
  const to = `${spec.path}/new`;
  return <LinkButton needs={`create_${spec.one}`} text={makingOf(spec).title} icon="plus" look={look} to={to} />;
}

type LookedAtProps = Readonly<{ count: number; words: string; onMore: () => void }>;

function LookedAt({ count, words, onMore }: LookedAtProps) {
  return (
    <p class="looked-at">
      <span class="quiet">{`Searched the newest ${number(count)} ${words}. Press / to search everything.`}</span>
      <Button text="Search further" onClick={onMore} />
    </p>
  );
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

function Filters({ filters, spec }: { readonly filters: readonly Filter[]; readonly spec: KindSpec }) {
  return (
    <div class="filters">
      <FilterText label={`Filter ${spec.words.many}`} />
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
    </div>
  );
}

function filterWords(name: string, value: string): string {
  if (value === 'true') return `${labelOf(name)}: yes`;
  return value === 'false' ? `${labelOf(name)}: no` : wordOf(value);
}

function columnsOf(spec: KindSpec, item: JsonSchema | undefined): readonly Column<Row>[] {
  const named = { title: 'Name', cell: (row: Row) => <Name spec={spec} row={row} /> };
  return [spec.first ?? named, ...(spec.columns ?? usualColumns(item))];
}

function usualColumns(item: JsonSchema | undefined): Column<Row>[] {
  const members = item?.properties ?? {};
  const state = ['status', 'state', 'kind', 'role', 'enabled', 'isActive'].find((name) => members[name]);
  const time = ['updatedAt', 'createdAt'].find((name) => members[name]);
  return [
    ...(state
      ? [{ title: labelOf(state), cell: (row: Row) => stateOf(row[state]), hidePriority: 2 as const, width: '8rem' }]
      : []),
    ...(time ? [timeColumn(time, time === 'updatedAt' ? 'Changed' : 'Created')] : []),
  ];
}

function stateOf(value: unknown) {
  if (typeof value === 'boolean') return <Badge tone={value ? 'good' : 'plain'}>{value ? 'On' : 'Off'}</Badge>;
  return <Badge value={String(value ?? '')} />;
}

export function timeColumn(name: string, title: string): Column<Row> {
  const cell = (row: Row) => <Time at={row[name] as string | undefined /* times are texts or absent */} />;
  return { title, cell, alignEnd: true, hidePriority: 1, width: '8rem' };
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

/** Filters stay when a record is opened beside the list; what concerns another record does not. */
function keptQuery(query: URLSearchParams): string {
  const kept = [...query].filter(([name]) => !['tab', 'version', 'against'].includes(name));
  return kept.length > 0 ? `?${new URLSearchParams(kept)}` : '';
}

type Filter = Readonly<{ name: string; options: readonly string[] }>;

function filtersOf(schema: JsonSchema | undefined): Filter[] {
  return Object.entries(schema?.properties ?? {}).flatMap(([name, member]) => {
    const { schema: plain } = withoutNull(member);
    if (plain.type === 'boolean' && name !== 'includeTotal') return [{ name, options: ['true', 'false'] }];
    return plain.enum && name !== 'order' ? [{ name, options: plain.enum.map(String) }] : [];
  });
}

function inputOf(filters: readonly Filter[], query: URLSearchParams): Row {
  const given = filters.flatMap(({ name, options }) => {
    const value = query.get(name);
    if (value === null || !options.includes(value)) return [];
    return [[name, options[0] === 'true' ? value === 'true' : value] as const];
  });
  return Object.fromEntries(given);
}

/** A list that no tool searches is looked through in steps of so many. */
const STEP = 1000;

/**
 * The rows that match what is typed and chosen. The tool searches where it can; otherwise the rows that are loaded are searched, and more of
 * them are loaded for it.
 */
function useRows(spec: KindSpec, tool: ListedTool | undefined, filters: readonly Filter[], query: URLSearchParams) {
  const [steps, setSteps] = useState(1);
  const members = tool?.inputSchema.properties;
  const typed = query.get('q') ?? '';
  const settled = useDebounced(typed);
  const searched = searchMemberOf(members);
  const input = {
    ...inputOf(filters, query),
    ...(searched && settled !== '' && { [searched]: settled }),
    ...spec.input,
    ...(members?.limit && { limit: 100 }),
    ...(members?.includeTotal && { includeTotal: true }),
  };
  const { rows, more, look, ...pages } = usePagedList<Row>(tool?.name, input);
  const own = (spec.filters ?? []).filter(({ name }) => query.get(name));
  const chosen = own.map(({ name }) => query.get(name)).join(' ');
  useEffect(() => setSteps(1), [typed, chosen]);
  if ((searched || typed === '') && own.length === 0) {
    return { ...pages, rows, shown: rows, more, look, lookedAt: undefined };
  }
  const isShown = (row: Row) =>
    own.every(({ name, chosenIn }) => chosenIn(row) === query.get(name)) &&
    (searched !== undefined || matches(spec, row, typed));
  const stops = more !== undefined && rows.length >= steps * STEP;
  return {
    ...pages,
    rows,
    shown: rows.filter(isShown),
    more: stops ? undefined : more,
    look: undefined,
    lookedAt: stops ? { count: rows.length, onMore: () => setSteps(steps + 1) } : undefined,
  };
}

function matches(spec: KindSpec, row: Row, typed: string): boolean {
  const wanted = typed.toLowerCase();
  return [titleOf(spec, row), ...Object.values(row)].some(
    (value) => typeof value === 'string' && value.toLowerCase().includes(wanted),
  );
}
