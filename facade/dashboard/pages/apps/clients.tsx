import { useState } from 'preact/hooks';
import { act, useMay, usePagedList } from '../../app.ts';
import { Form } from '../../components/form/form.tsx';
import {
  AskButton,
  Badge,
  Button,
  type Column,
  Dialog,
  Empty,
  Mono,
  PagedTable,
  SecretOnce,
  showDialog,
  Time,
} from '../../ui.ts';

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
  made: 'Created here',
};

/** The programs that can ask to be let in, and how each became known. */
export function Clients() {
  const pages = usePagedList<Client>('list_oauth_clients', { limit: 100 });
  const [makes, setMakes] = useState(false);
  const mayMake = useMay('create_oauth_client');
  const mayDelete = useMay('delete_oauth_client');
  const columns = mayDelete ? [...COLUMNS, { title: '', end: true, cell: Forget }] : COLUMNS;
  return (
    <div class="overview">
      <div class="section-head">
        <p class="quiet">Most clients make themselves known. Make one here for a program that cannot.</p>
        {mayMake && <Button text="New client" icon="plus" onClick={() => setMakes(true)} />}
      </div>
      <PagedTable label="Clients" columns={columns} pages={pages} none={<Empty title="No client is known yet" />} />
      {makes && <NewClient onClose={() => setMakes(false)} />}
    </div>
  );
}

function Forget({ id, name }: Client) {
  const run = () => act('delete_oauth_client', { id });
  return (
    <AskButton text="Forget" ask={{ title: `Forget ${name}?`, action: 'Forget client', run }}>
      <p>All its connections end at once, those of other people too.</p>
    </AskButton>
  );
}

const COLUMNS: readonly Column<Client>[] = [
  { title: 'Name', cell: ({ name }) => <strong>{name}</strong> },
  { title: 'How', cell: ({ kind }) => <Badge tone="plain">{KINDS[kind] ?? kind}</Badge>, spare: 1 },
  { title: 'Client id', cell: ({ clientId }) => <Mono>{clientId}</Mono>, spare: 2 },
  { title: 'Since', cell: ({ createdAt }) => <Time at={createdAt} />, end: true, spare: 3 },
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
