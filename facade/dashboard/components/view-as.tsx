import { useState } from 'preact/hooks';
import { useAnswer } from '../answer-cache.ts';
import { counted } from '../format.ts';
import { useTools } from '../tools.ts';
import { ErrorBox } from './error-box.tsx';
import { FindInput } from './find-input.tsx';
import { Badge, Empty, Link, Skeleton } from './small.tsx';
import { type Column, Table } from './table.tsx';
import { WHEN } from './who-can.tsx';

/** As `view_as` answers. */
export type Allowed = Readonly<{ tool: string; verdict: 'allowed' | 'depends'; rule: string }>;
type Named = Allowed & Readonly<{ title: string; isReading: boolean }>;

/** A tab with all that somebody or something may call now, for those who may see that. `of`: the member of `view_as` that names it. */
export function viewAsTab(of: 'userId' | 'agentId' | 'flowId', id: unknown, label = 'What it can do') {
  return { id: 'can', label, needs: 'view_as', content: () => <ViewAs of={{ [of]: String(id) }} /> };
}

export function ViewAs({ of, only }: Readonly<{ of: object; only?: readonly string[] }>) {
  const { data, error } = useAnswer<{ data: readonly Allowed[] }>('view_as', of);
  const tools = useTools();
  const [typed, setTyped] = useState('');
  if (error) return error.code === 'not_found' ? <Empty title="It can call nothing now" /> : <ErrorBox error={error} />;
  if (!data) return <Skeleton lines={8} />;
  const rows = data.data
    .filter(({ tool }) => only?.includes(tool) ?? true)
    .map((one): Named => {
      const known = tools?.get(one.tool);
      return { ...one, title: known?.title ?? one.tool, isReading: known?.annotations?.readOnlyHint === true };
    });
  const wanted = typed.trim().toLowerCase();
  const shown = rows.filter(({ tool, title }) => `${tool} ${title}`.toLowerCase().includes(wanted));
  const changing = rows.filter(({ isReading }) => !isReading).length;
  return (
    <div class="overview">
      <p>
        <strong>{counted(rows.length, 'tool')}</strong>
        <span class="quiet">
          {changing === 0 ? ', none of which changes anything' : `, ${changing} of which change something`}.
        </span>
      </p>
      <FindInput label="Find a tool" value={typed} onType={setTyped} />
      {shown.length === 0 ? (
        <Empty title={rows.length === 0 ? 'It can call nothing now' : 'No such tool among them'} />
      ) : (
        <Table label="What it can call" columns={COLUMNS} rows={shown} keyOf={({ tool }) => tool} />
      )}
    </div>
  );
}

const COLUMNS: readonly Column<Named>[] = [
  {
    title: 'Tool',
    cell: ({ tool, title, rule, isReading }) => (
      <span class="name-words who-can">
        <span class="name-title">
          <Link to={`/tools/${tool}`}>{title}</Link> {!isReading && <Badge tone="warn">Changes</Badge>}
        </span>
        <span class="name-more">{rule}</span>
      </span>
    ),
  },
  WHEN,
];
