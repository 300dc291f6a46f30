import type { AuditEntry } from '../../../resources/audit-entry.ts';
import { CALLERS, labelOf, setQuery, useLocation, usePagedList, useTool } from '../app.ts';
import { FilterBar, FilterChoice, FilterId, FilterRecord } from '../components/filters.tsx';
import { optionsOf } from '../components/form/select.tsx';
import type { JsonSchema } from '../schema.ts';
import { Empty, FilteredRows, LinkButton, PageHead } from '../ui.ts';
import { useWatching } from '../use-polling.ts';
import { DOORS } from './audit/doors.ts';
import { COLUMNS, EntryPane } from './audit/entry-pane.tsx';
import { useProof } from './audit/proof.tsx';

/** The calls that changed something, with reads every call: filtered by what stands in the address, one of them beside the list. */
export function Page() {
  const { query, parts } = useLocation();
  const [, open] = parts;
  const schema = useTool('list_audit_entries')?.inputSchema;
  const given = [...query].filter(([name, value]) => schema?.properties?.[name] && value !== '');
  const input = {
    limit: 100,
    ...Object.fromEntries(given),
    changes: withoutReads(query),
    dashboardReads: withOwnReads(query),
  };
  useWatching();
  const pages = usePagedList<AuditEntry>(schema && 'list_audit_entries', input);
  const search = query.toString();
  const kept = search && `?${search}`;
  const proof = useProof();
  const listed = pages.rows.find(({ id }) => id === open);
  return (
    <div class={open === undefined ? 'kind' : 'kind with-detail'}>
      <section class="list-pane" aria-label="Audit">
        <PageHead title="Audit">
          {given.length > 0 && <LinkButton text="Clear filters" to="/audit" />}
          {proof.button}
        </PageHead>
        {proof.line}
        <AuditFilters query={query} schema={schema} />
        <FilteredRows
          label="Audit entries"
          columns={COLUMNS}
          pages={schema ? pages : { ...pages, loading: true }}
          to={({ id }) => `/audit/${encodeURIComponent(id)}${kept}`}
          picked={open}
          none={<Empty title="No entries match">Change or clear the filters, or show reads too.</Empty>}
        />
      </section>
      {open !== undefined && <EntryPane key={open} id={open} listed={listed} asked={input} back={`/audit${kept}`} />}
    </div>
  );
}

const TEXTS = ['tool', 'recordId', 'requestId', 'sessionId'] as const;
/** What makes all calls wanted, those that only read included. */
const NAMING = [...TEXTS, 'principal'];
const LABELS: Readonly<Record<string, string>> = {
  recordId: 'Record (id)',
  requestId: 'Request (id)',
  sessionId: 'Session (id)',
};

/** Whether calls that only read are left out: as the address says, otherwise unless it names something, as all calls of that are wanted. */
function withoutReads(query: URLSearchParams): boolean {
  const said = query.get('changes');
  return said === null ? !NAMING.some((name) => query.get(name)) : said === 'true';
}

/** Whether the reads of the dashboard are shown among the others: only where that is asked, or all calls of something are wanted. */
function withOwnReads(query: URLSearchParams): boolean {
  const said = query.get('dashboardReads');
  return said === null ? NAMING.some((name) => query.get(name)) || query.get('door') === 'dashboard' : said === 'true';
}

function AuditFilters({ query, schema }: Readonly<{ query: URLSearchParams; schema: JsonSchema | undefined }>) {
  const choices = ['outcome', 'door'].flatMap((name) => {
    const values = schema?.properties?.[name]?.enum;
    if (!values) return [];
    return name === 'door'
      ? [{ name, label: 'Via', options: optionsOf(values, (value) => DOORS[value] ?? value) }]
      : [{ name, label: labelOf(name), options: optionsOf(values) }];
  });
  const set = [...choices.map(({ name }) => name), ...NAMING].filter((name) => query.get(name)).length;
  return (
    <FilterBar find={<IncludeReads query={query} />} set={set}>
      {!withoutReads(query) && (
        <label class="check">
          <input
            type="checkbox"
            checked={!withOwnReads(query)}
            onChange={({ currentTarget }) => setQuery({ dashboardReads: String(!currentTarget.checked) })}
          />
          Without the dashboard’s own reads
        </label>
      )}
      {choices.map((choice) => (
        <FilterChoice key={choice.name} {...choice} />
      ))}
      <FilterRecord name="principal" label="Who" kinds={CALLERS} />
      {TEXTS.map((name) => (
        <FilterId key={name} name={name} label={LABELS[name] ?? labelOf(name)} />
      ))}
    </FilterBar>
  );
}

function IncludeReads({ query }: Readonly<{ query: URLSearchParams }>) {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={!withoutReads(query)}
        onChange={({ currentTarget }) => setQuery({ changes: String(!currentTarget.checked) })}
      />
      Include reads
    </label>
  );
}
