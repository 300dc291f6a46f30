import { CALLERS, usePlace, useTool } from '../app.ts';
import { FilterChoice, FilterRecord } from '../components/filters.tsx';
import { optionsOf } from '../components/form/select.tsx';
import { LinkButton } from '../ui.ts';
import { RunList } from './runs/run-list.tsx';
import { RunPane } from './runs/run-pane.tsx';

/** What agents did: runs filtered by what stands in the address, one of them beside the list. */
export function Page() {
  const { query, parts } = usePlace();
  const [, open] = parts;
  const schema = useTool('list_agent_runs')?.inputSchema;
  const given = [...query].filter(([name, value]) => schema?.properties?.[name] && value !== '');
  const search = query.toString();
  const kept = search && `?${search}`;
  return (
    <div class={open === undefined ? 'kind' : 'kind with-detail'}>
      <section class="list-pane" aria-label="Agent runs">
        <header class="page-head">
          <h1>Agent runs</h1>
          {given.length > 0 && (
            <span class="page-actions">
              <LinkButton text="Clear filters" to="/runs" />
            </span>
          )}
        </header>
        <div class="filters">
          <FilterChoice name="status" label="Status" options={optionsOf(schema?.properties?.status?.enum)} />
          <FilterRecord name="agentId" label="Agent" kinds={{ agent: 'Agents' }} />
          <FilterRecord name="principal" label="Who" kinds={CALLERS} />
          <FilterRecord name="threadId" label="Thread" kinds={{ thread: 'Threads' }} />
        </div>
        <RunList
          asked={schema && { limit: 50, ...Object.fromEntries(given) }}
          to={(id) => `/runs/${encodeURIComponent(id)}${kept}`}
          picked={open}
          isNarrowed={given.length > 0}
        />
      </section>
      {open !== undefined && <RunPane key={open} id={open} back={`/runs${kept}`} />}
    </div>
  );
}
