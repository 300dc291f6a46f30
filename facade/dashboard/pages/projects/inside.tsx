import { Badge, Empty, ErrorBox, LinkButton, Skeleton, Table, Time, useMay, usePages } from '../../commons.ts';
import type { Row } from '../../kind/spec.ts';

type InsideProps = Readonly<{ projectId: string; kind: 'goals' | 'tasks' | 'documents' }>;

const WORDS = { goals: 'goal', tasks: 'task', documents: 'document' } as const;

/** The goals, tasks or documents of a project. */
export function Inside({ projectId, kind }: InsideProps) {
  const { rows, loading, error, more } = usePages<Row>(`list_${kind}`, { projectId, limit: 100 });
  const one = WORDS[kind];
  const mayMake = useMay(`create_${one}`);
  if (error) return <ErrorBox error={error} />;
  if (rows.length === 0 && loading) return <Skeleton lines={4} />;
  if (rows.length === 0) {
    return (
      <Empty title={`No ${kind} yet`} action={mayMake && <LinkButton text={`New ${one}`} to={`/${kind}/new`} />}>
        {`A ${one} belongs to the project that is picked in its form.`}
      </Empty>
    );
  }
  return (
    <Table
      label={`The ${kind} of the project`}
      columns={[
        { id: 'title', title: 'Name', cell: ({ title }: Row) => <span class="name-title">{String(title)}</span> },
        ...(kind === 'documents' ? [] : [STATUS]),
        {
          id: 'updatedAt',
          title: 'Changed',
          cell: ({ updatedAt }: Row) => <Time at={updatedAt as string} />,
          end: true,
          spare: 1,
        },
      ]}
      rows={rows}
      keyOf={({ id }) => String(id)}
      to={({ id }) => `/${kind}/${encodeURIComponent(String(id))}`}
      onMore={more}
      loading={loading}
    />
  );
}

const STATUS = {
  id: 'status',
  title: 'Status',
  cell: ({ status }: Row) => <Badge value={String(status)} />,
  width: '8rem',
};
