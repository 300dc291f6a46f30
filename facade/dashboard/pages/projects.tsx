import { useMay, usePagedList } from '../app.ts';
import { wordOf } from '../format.ts';
import { kindPage } from '../kind/kind-page.tsx';
import type { Row } from '../kind/spec.ts';
import { Badge, Empty, LinkButton, PagedTable, Time } from '../ui.ts';

const KINDS = ['tasks', 'goals', 'documents'] as const;

export const Page = kindPage('project', {
  subtitle: 'description',
  versions: 'project',
  tabs: (row) =>
    KINDS.map((kind) => ({
      id: kind,
      label: wordOf(kind),
      content: () => <Inside projectId={String(row.id)} kind={kind} />,
    })),
  empty: 'A project holds goals, tasks and documents together.',
});

type InsideProps = Readonly<{ projectId: string; kind: 'goals' | 'tasks' | 'documents' }>;

const WORDS = { goals: 'goal', tasks: 'task', documents: 'document' } as const;

/** The goals, tasks or documents of a project. */
export function Inside({ projectId, kind }: InsideProps) {
  const pages = usePagedList<Row>(`list_${kind}`, { projectId, limit: 100 });
  const one = WORDS[kind];
  const mayMake = useMay(`create_${one}`);
  const none = (
    <Empty title={`No ${kind} yet`} action={mayMake && <LinkButton text={`New ${one}`} to={`/${kind}/new`} />}>
      {`A ${one} belongs to the project that is picked in its form.`}
    </Empty>
  );
  return (
    <PagedTable
      label={`The ${kind} of the project`}
      columns={[
        { title: 'Name', cell: ({ title }: Row) => <span class="name-title">{String(title)}</span> },
        ...(kind === 'documents' ? [] : [STATUS]),
        { title: 'Changed', cell: ({ updatedAt }: Row) => <Time at={updatedAt as string} />, end: true, spare: 1 },
      ]}
      pages={pages}
      to={({ id }) => `/${kind}/${encodeURIComponent(String(id))}`}
      none={none}
    />
  );
}

const STATUS = { title: 'Status', cell: ({ status }: Row) => <Badge value={String(status)} />, width: '8rem' };
