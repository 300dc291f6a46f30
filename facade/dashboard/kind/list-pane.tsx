import { labelOf, number, useMay, usePlace, useTool, wordOf } from '../app.ts';
import { FilterChoice, FilterText } from '../components/filters.tsx';
import { useLive } from '../live-updates.ts';
import type { JsonSchema } from '../schema.ts';
import { Avatar, Badge, Button, type Column, Empty, ErrorBox, LinkButton, Skeleton, Table, Time } from '../ui.ts';
import { type Filter, filtersOf, useRows } from './list-rows.ts';
import { idOf, type KindSpec, pathOf, type Row, titleOf } from './spec.ts';

/** The list of a kind, filtered as far as its list tool filters. */
export function ListPane({ spec, open }: { readonly spec: KindSpec; readonly open: string | undefined }) {
  const tool = useTool(`list_${spec.many}`);
  const mayCreate = useMay(`create_${spec.one}`);
  const { query } = usePlace();
  const { headControls: HeadControls } = spec;
  const filters = filtersOf(tool?.inputSchema);
  const { rows, shown, loading, error, more, total, look, lookedAt } = useRows(spec, tool, filters, query);
  useLive([`${spec.one.replaceAll('_', '-')}://`]);
  const isFiltered = [{ name: 'q' }, ...filters, ...(spec.filters ?? [])].some(({ name }) => query.has(name));
  return (
    <section class="list-pane" aria-label={spec.words.many}>
      <header class="page-head">
        <h1>{capital(spec.words.many)}</h1>
        {rows.length > 0 && (
          <span class="page-count">{counts(shown.length, rows.length, total, more !== undefined)}</span>
        )}
        <span class="page-actions">
          {HeadControls && <HeadControls />}
          {mayCreate && (
            <LinkButton text={`New ${spec.words.one}`} look="primary" icon="plus" to={`${spec.path}/new`} />
          )}
        </span>
      </header>
      <Filters filters={filters} spec={spec} />
      {error && <ErrorBox error={error} />}
      {shown.length > 0 || more ? (
        <Table
          label={spec.words.many}
          columns={columnsOf(spec, tool?.outputSchema?.properties?.data?.items)}
          rows={shown}
          keyOf={(row) => idOf(spec, row)}
          to={(row) => `${pathOf(spec, row)}${keptQuery(query)}`}
          picked={open}
          onMore={more}
          onLook={look}
          loading={loading}
        />
      ) : loading || !tool ? (
        <div class="pad">
          <Skeleton lines={6} />
        </div>
      ) : (
        !error && !lookedAt && (isFiltered ? <NoMatch words={spec.words.many} /> : <NoneYet spec={spec} />)
      )}
      {lookedAt && <LookedAt {...lookedAt} words={spec.words.many} />}
    </section>
  );
}

type LookedAtProps = Readonly<{ count: number; words: string; onMore: () => void }>;

/** Says that a long list was looked through in part. */
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

function NoMatch({ words }: { readonly words: string }) {
  return <Empty title={`No ${words} match`}>Change or clear the filter.</Empty>;
}

/** What the records are for, and how the first one comes about. */
export function NoneYet({ spec }: { readonly spec: KindSpec }) {
  const { words, path, source, empty } = spec;
  const mayCreate = useMay(`create_${spec.one}`);
  const mayBring = useMay(source?.needs);
  const first = mayCreate
    ? { icon: 'plus' as const, to: `${path}/new`, label: `New ${words.one}` }
    : mayBring && source && { icon: 'import' as const, ...source };
  return (
    <Empty
      title={`No ${words.many} yet`}
      action={first && <LinkButton text={first.label} icon={first.icon} to={first.to} />}
    >
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

/** The name, and what the kind says or else its state and when it changed. */
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
      ? [{ title: labelOf(state), cell: (row: Row) => stateOf(row[state]), spare: 2 as const, width: '8rem' }]
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
  return { title, cell, end: true, spare: 1, width: '8rem' };
}

/** Of what stands below a title, so many characters are enough. */
const MOST_SAID = 200;

export function Name({ spec, row }: { readonly spec: KindSpec; readonly row: Row }) {
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

function capital(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Filters stay when a record is opened beside the list; what concerns another record does not. */
function keptQuery(query: URLSearchParams): string {
  const kept = [...query].filter(([name]) => !['tab', 'version', 'against'].includes(name));
  return kept.length > 0 ? `?${new URLSearchParams(kept)}` : '';
}
