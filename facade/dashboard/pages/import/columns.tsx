import { Select } from '../../components/form/select.tsx';
import { Badge, Mono, Table } from '../../ui.ts';
import type { Mapping, Member } from './mapping.ts';

interface ColumnsProps {
  /** The columns of the file, with some of their values. */
  readonly columns: ReadonlyMap<string, readonly string[]>;
  readonly members: readonly Member[];
  readonly mapping: Mapping;
  readonly onChange: (mapping: Mapping) => void;
}

/** What each column of the file becomes, so that a wrong one is seen before anything is sent. */
export function Columns({ columns, members, mapping, onChange }: ColumnsProps) {
  const given = [...mapping.values()];
  const missing = members.filter(({ name, needed }) => needed && !given.includes(name)).map(({ name }) => name);
  const give = (column: string, member: string) => {
    const others = [...mapping].filter(([other, taken]) => other !== column && taken !== member);
    onChange(new Map(member === '' ? others : [...others, [column, member]]));
  };
  return (
    <section aria-labelledby="columns" class="import-columns">
      <h2 id="columns">Columns</h2>
      <Table
        label="Columns"
        columns={[
          { title: 'In the file', cell: ([column]: Column) => <Mono>{column}</Mono> },
          {
            title: 'Such as',
            cell: ([, values]: Column) => <span class="quiet">{values.join(', ').slice(0, MOST_SHOWN)}</span>,
            spare: 1,
          },
          {
            title: 'Becomes',
            cell: ([column]: Column) => (
              <Select
                aria-label={`${column} becomes`}
                value={mapping.get(column) ?? ''}
                none="Not imported"
                options={members.map(({ name, needed }) => ({
                  value: name,
                  label: needed ? `${name} (required)` : name,
                }))}
                onPick={(member) => give(column, member)}
              />
            ),
            width: '15rem',
          },
        ]}
        rows={[...columns]}
        keyOf={([column]) => column}
      />
      {missing.length > 0 && (
        <p class="note warn">
          <Badge tone="warn">Needed</Badge> No column becomes {missing.join(', ')}. Rows without are refused.
        </p>
      )}
    </section>
  );
}

type Column = readonly [string, readonly string[]];
const MOST_SHOWN = 80;
