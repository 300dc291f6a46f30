import { CALLERS, labelOf, setQuery } from '../../app.ts';
import { FilterChoice, FilterId, FilterRecord } from '../../components/filters.tsx';
import { optionsOf } from '../../components/form/select.tsx';
import type { JsonSchema } from '../../schema.ts';

const TEXTS = ['tool', 'recordId', 'requestId', 'sessionId'] as const;
/** What makes all calls wanted, those that only read included. */
const NAMING = [...TEXTS, 'principal'];
const LABELS: Readonly<Record<string, string>> = {
  recordId: 'Record (id)',
  requestId: 'Request (id)',
  sessionId: 'Session (id)',
};

/** Whether calls that only read are left out: as the address says, otherwise unless it names something, as all calls of that are wanted. */
export function withoutReads(query: URLSearchParams): boolean {
  const said = query.get('changes');
  return said === null ? !NAMING.some((name) => query.get(name)) : said === 'true';
}

/** The filters of the audit log. Each stands in the address, so that a view can be shared. */
export function AuditFilters({ query, schema }: Readonly<{ query: URLSearchParams; schema: JsonSchema | undefined }>) {
  const choices = ['outcome', 'door'].filter((name) => schema?.properties?.[name]?.enum);
  return (
    <div class="filters">
      <label class="check">
        <input
          type="checkbox"
          checked={!withoutReads(query)}
          onChange={({ currentTarget }) => setQuery({ changes: String(!currentTarget.checked) })}
        />
        Include reads
      </label>
      {choices.map((name) => (
        <FilterChoice
          key={name}
          name={name}
          label={labelOf(name)}
          options={optionsOf(schema?.properties?.[name]?.enum)}
        />
      ))}
      <FilterRecord name="principal" label="Who" kinds={CALLERS} />
      {TEXTS.map((name) => (
        <FilterId key={name} name={name} label={LABELS[name] ?? labelOf(name)} />
      ))}
    </div>
  );
}
