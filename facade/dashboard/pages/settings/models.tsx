import { labelOf, useAnswer } from '../../app.ts';
import { Badge, type Column, ErrorBox, Mono, Skeleton, Table } from '../../ui.ts';

interface Model {
  readonly id: string;
  readonly description: string;
  readonly available: boolean;
  readonly capabilities: Readonly<Record<string, boolean>>;
}

/** The models that agents can have, by the keys that the server was started with. */
export function ModelsList() {
  const { data, error } = useAnswer<{ readonly data: readonly Model[] }>('list_models');
  if (error) return <ErrorBox error={error} />;
  if (!data) return <Skeleton lines={4} />;
  return (
    <div class="overview">
      <p class="quiet">
        More appear when the server is started with <Mono>OPENAI_API_KEY</Mono>, <Mono>ANTHROPIC_API_KEY</Mono> or{' '}
        <Mono>MODEL_BASE_URL</Mono>.
      </p>
      <Table label="Models" columns={COLUMNS} rows={data.data} keyOf={({ id }) => id} />
    </div>
  );
}

const COLUMNS: readonly Column<Model>[] = [
  {
    title: 'Model',
    cell: ({ id, description }) => (
      <>
        <span class="name-title">{id}</span>
        <p class="hint">{description.replaceAll('`', '')}</p>
      </>
    ),
  },
  {
    title: 'Can',
    cell: ({ capabilities }) =>
      Object.keys(capabilities)
        .filter((name) => capabilities[name])
        .map(labelOf)
        .join(', '),
    spare: 1,
  },
  {
    title: 'Available',
    cell: ({ available }) => <Badge tone={available ? 'good' : 'plain'}>{available ? 'Yes' : 'No'}</Badge>,
    end: true,
  },
];
