import { usePagedList, usePlace, useTool } from '../app.ts';
import { Empty, ErrorBox, LinkButton, Skeleton, Table } from '../ui.ts';
import { COLUMNS, type Entry } from './audit/entry.tsx';
import { EntryPane } from './audit/entry-pane.tsx';
import { AuditFilters, withoutReads } from './audit/filters.tsx';

/** The calls that changed something, with reads every call: filtered by what stands in the address, one of them beside the list. */
export function Page() {
  const { query, parts } = usePlace();
  const [, open] = parts;
  const schema = useTool('list_audit_entries')?.inputSchema;
  const given = [...query].filter(([name, value]) => schema?.properties?.[name] && value !== '');
  const input = { limit: 100, ...Object.fromEntries(given), changes: withoutReads(query) };
  const { rows, loading, error, more } = usePagedList<Entry>(schema && 'list_audit_entries', input);
  const search = query.toString();
  const kept = search && `?${search}`;
  return (
    <div class={open === undefined ? 'kind' : 'kind with-detail'}>
      <section class="list-pane" aria-label="Audit">
        <header class="page-head">
          <h1>Audit</h1>
          {given.length > 0 && (
            <span class="page-actions">
              <LinkButton text="Clear filters" to="/audit" />
            </span>
          )}
        </header>
        <AuditFilters query={query} schema={schema} />
        {error && <ErrorBox error={error} />}
        {rows.length > 0 ? (
          <Table
            label="Audit entries"
            columns={COLUMNS}
            rows={rows}
            keyOf={({ id }) => id}
            to={({ id }) => `/audit/${encodeURIComponent(id)}${kept}`}
            picked={open}
            onMore={more}
            loading={loading}
          />
        ) : loading || !schema ? (
          <div class="pad">
            <Skeleton lines={6} />
          </div>
        ) : (
          !error && <Empty title="No entries match">Change or clear the filters, or show reads too.</Empty>
        )}
      </section>
      {open !== undefined && (
        <EntryPane
          key={open}
          id={open}
          listed={rows.find(({ id }) => id === open)}
          asked={input}
          back={`/audit${kept}`}
        />
      )}
    </div>
  );
}
