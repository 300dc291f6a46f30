import { usePagedList, wordOf } from '../app.ts';
import { kindPage, type Row } from '../kind/kind-page.tsx';
import { Badge, type Column, Empty, LinkButton, PagedTable, Time } from '../ui.ts';

const KINDS = ['tasks', 'goals', 'documents'] as const;

export const Page = kindPage('project', {
  subtitle: 'description',
  fields: {
    name: { hint: 'Like Spring campaign.' },
    description: { label: 'What it is about' },
    status: {},
  },
  makes: {
    title: 'New project',
    action: 'Create project',
    intro: 'Holds goals, tasks and documents together, so that a colleague or an agent can be given all of it at once.',
  },
  versions: 'project',
  tabs: (row) =>
    KINDS.map((kind) => ({
      id: kind,
      label: wordOf(kind),
      content: () => <Inside projectId={String(row.id)} kind={kind} />,
    })),
  empty: 'A project holds goals, tasks and documents together.',
});

const WORDS = { goals: 'goal', tasks: 'task', documents: 'document' } as const;

function Inside({ projectId, kind }: Readonly<{ projectId: string; kind: (typeof KINDS)[number] }>) {
  const pages = usePagedList<Row>(`list_${kind}`, { projectId, limit: 100 });
  const one = WORDS[kind];
  const make = <LinkButton needs={`create_${one}`} text={`New ${one}`} to={`/${kind}/new`} />;
  const none = (
    <Empty title={`No ${kind} yet`} action={make}>
      {`A ${one} belongs to the project that is picked in its form.`}
    </Empty>
  );
  return (
    <PagedTable
      label={`The ${kind} of the project`}
      columns={kind === 'documents' ? COLUMNS.filter(({ title }) => title !== 'Status') : COLUMNS}
      pages={pages}
      to={({ id }) => `/${kind}/${encodeURIComponent(String(id))}`}
      none={none}
    />
  );
}

const COLUMNS: readonly Column<Row>[] = [
  { title: 'Name', cell: ({ title }) => <span class="name-title">{String(title)}</span> },
  { title: 'Status', cell: ({ status }) => <Badge value={String(status)} />, width: '8rem' },
  { title: 'Changed', cell: ({ updatedAt }) => <Time at={updatedAt as string} />, alignEnd: true, hidePriority: 1 },
];
