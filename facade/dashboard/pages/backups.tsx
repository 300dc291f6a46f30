import { useState } from 'preact/hooks';
import {
  act,
  Badge,
  Button,
  Empty,
  ErrorBox,
  Mono,
  number,
  Skeleton,
  Table,
  Time,
  toast,
  useAnswer,
  useMay,
  usePages,
} from '../commons.ts';
import { Warnings } from '../kind/overview.tsx';

interface Backup {
  readonly name: string;
  readonly at: string;
  readonly bytes: number;
  readonly records: number;
  readonly auditEntries: number;
  readonly verified: boolean;
}

interface SystemHealth {
  readonly integrations: readonly { readonly name: string; readonly kind: string; readonly lastError?: string }[];
}

/** The backups that the server made, and one more on request. */
export function Page() {
  const { data, error } = useAnswer<SystemHealth>('get_system_health');
  const backups = data?.integrations.find(({ name }) => name === 'backups');
  const mayMake = useMay('create_backup');
  return (
    <div class="page-body">
      <header class="page-head">
        <h1>Backups</h1>
        {backups && mayMake && (
          <span class="page-actions">
            <BackUpNow />
          </span>
        )}
      </header>
      {error && <ErrorBox error={error} />}
      {!data && !error && <Skeleton lines={4} />}
      {data && !backups && <None store={data.integrations[0]?.kind} />}
      {backups && (
        <>
          <Warnings warnings={backups.lastError === undefined ? [] : [backups.lastError]} />
          <Kept />
        </>
      )}
    </div>
  );
}

function BackUpNow() {
  const [busy, setBusy] = useState(false);
  const make = async () => {
    setBusy(true);
    try {
      const { records } = await act<Backup>('create_backup');
      toast(`Everything is in a new backup, ${number(records)} records, and was checked.`);
    } catch (error) {
      toast(error instanceof Error ? error.message : String(error));
    }
    setBusy(false);
  };
  return <Button text="Back up now" look="primary" icon="archive" busy={busy} onClick={make} />;
}

function Kept() {
  const { rows, loading, error, more } = usePages<Backup>('list_backups', { limit: 50 });
  if (error) return <ErrorBox error={error} />;
  if (rows.length === 0) return loading ? <Skeleton lines={4} /> : <NoBackup />;
  return (
    <>
      <p class="quiet">
        Each is a folder with all data. To restore one, copy it and start a server with <Mono>DATA_DIR</Mono> set to the
        copy.
      </p>
      <Table label="Backups" columns={COLUMNS} rows={rows} keyOf={({ name }) => name} onMore={more} loading={loading} />
    </>
  );
}

function NoBackup() {
  const mayMake = useMay('create_backup');
  return (
    <Empty title="No backup yet">
      Each will be a folder with all data, read and counted after it was written.
      {mayMake && ' Make the first one now.'}
    </Empty>
  );
}

const MEGABYTE = 1024 * 1024;

const COLUMNS = [
  { id: 'at', title: 'Made', cell: ({ at }: Backup) => <Time at={at} /> },
  {
    id: 'state',
    title: 'State',
    cell: ({ verified }: Backup) => (
      <Badge tone={verified ? 'good' : 'warn'}>{verified ? 'Verified' : 'Changed since'}</Badge>
    ),
  },
  { id: 'name', title: 'Folder', cell: ({ name }: Backup) => <Mono>{name}</Mono>, spare: 2 as const },
  { id: 'records', title: 'Records', cell: ({ records }: Backup) => number(records), end: true, spare: 1 as const },
  {
    id: 'audit',
    title: 'Audit entries',
    cell: ({ auditEntries }: Backup) => number(auditEntries),
    end: true,
    spare: 3 as const,
  },
  { id: 'size', title: 'Size', cell: ({ bytes }: Backup) => `${number(bytes / MEGABYTE, 1)} MB`, end: true },
];

function None({ store }: { readonly store: string | undefined }) {
  if (store === 'postgres') {
    return (
      <Empty title="The data is in a PostgreSQL database">
        This server does not back it up. Use <Mono>pg_dump</Mono>, or what the provider of the database offers.
      </Empty>
    );
  }
  return (
    <Empty title="This server makes no backups">
      Start it with <Mono>BACKUP_FOLDER</Mono> set to a folder, best on another disk: then it makes one each day.
    </Empty>
  );
}
