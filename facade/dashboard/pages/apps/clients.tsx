import { useState } from 'preact/hooks';
import {
  act,
  Badge,
  Button,
  ConfirmDialog,
  Dialog,
  Empty,
  ErrorBox,
  Mono,
  SecretOnce,
  Skeleton,
  showDialog,
  Table,
  Time,
  useMay,
  usePages,
} from '../../commons.ts';
import { Form } from '../../components/form/form.tsx';

interface Client {
  readonly id: string;
  readonly clientId: string;
  readonly name: string;
  readonly kind: string;
  readonly redirectUris: readonly string[];
  readonly createdAt: string;
}

const KINDS: Readonly<Record<string, string>> = {
  metadata: 'Published by its host',
  registered: 'Registered itself',
  made: 'Made here',
};

/** The programs that can ask to be let in, and how each became known. */
export function Clients() {
  const { rows, loading, error, more } = usePages<Client>('list_oauth_clients', { limit: 100 });
  const [makes, setMakes] = useState(false);
  const [deletes, setDeletes] = useState<Client>();
  const mayMake = useMay('create_oauth_client');
  const mayDelete = useMay('delete_oauth_client');
  const columns = mayDelete
    ? [
        ...COLUMNS,
        {
          id: 'end',
          title: '',
          end: true,
          cell: (client: Client) => <Button text="Forget" onClick={() => setDeletes(client)} />,
        },
      ]
    : COLUMNS;
  return (
    <div class="overview">
      <div class="section-head">
        <p class="quiet">Most clients make themselves known. Make one here for a program that cannot.</p>
        {mayMake && <Button text="New client" icon="plus" onClick={() => setMakes(true)} />}
      </div>
      {error && <ErrorBox error={error} />}
      {rows.length > 0 ? (
        <Table label="Clients" columns={columns} rows={rows} keyOf={({ id }) => id} onMore={more} loading={loading} />
      ) : (
        !error && (loading ? <Skeleton lines={4} /> : <Empty title="No client is known yet" />)
      )}
      {makes && <NewClient onClose={() => setMakes(false)} />}
      {deletes && (
        <ConfirmDialog
          title={`Forget ${deletes.name}?`}
          action="Forget client"
          run={() => act('delete_oauth_client', { id: deletes.id })}
          onClose={() => setDeletes(undefined)}
        >
          <p>All its connections end at once, those of other people too.</p>
        </ConfirmDialog>
      )}
    </div>
  );
}

const COLUMNS = [
  { id: 'name', title: 'Name', cell: ({ name }: Client) => <strong>{name}</strong> },
  {
    id: 'kind',
    title: 'How',
    cell: ({ kind }: Client) => <Badge tone="plain">{KINDS[kind] ?? kind}</Badge>,
    spare: 1 as const,
  },
  { id: 'clientId', title: 'Client id', cell: ({ clientId }: Client) => <Mono>{clientId}</Mono>, spare: 2 as const },
  {
    id: 'since',
    title: 'Since',
    cell: ({ createdAt }: Client) => <Time at={createdAt} />,
    end: true,
    spare: 3 as const,
  },
];

function NewClient({ onClose }: { readonly onClose: () => void }) {
  const make = async (input: object) => {
    const made = await act<Client & { readonly secret?: string }>('create_oauth_client', input);
    onClose();
    const { secret } = made;
    if (secret === undefined) return;
    showDialog((close) => (
      <SecretOnce title={`The secret of ${made.name}`} secret={secret} onClose={close}>
        <p>
          Its client id is <Mono>{made.clientId}</Mono>.
        </p>
      </SecretOnce>
    ));
  };
  return (
    <Dialog title="New client" size="m" onClose={onClose}>
      <Form tool="create_oauth_client" action="Make client" run={make} onCancel={onClose} />
    </Dialog>
  );
}
