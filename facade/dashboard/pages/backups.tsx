import { act, number, useAnswer, useMay, usePagedList } from '../app.ts';
import { Warnings } from '../kind/overview.tsx';
import { ActionButton, Badge, type Column, Empty, ErrorBox, Mono, PagedTable, Skeleton, Time } from '../ui.ts';

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
            <ActionButton text="Back up now" look="primary" icon="archive" run={backUp} />
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

async function backUp(): Promise<string> {
  const { records } = await act<Backup>('create_backup');
  return `Everything is in a new backup, ${number(records)} records, and was checked.`;
}

function Kept() {
  const pages = usePagedList<Backup>('list_backups', { limit: 50 });
  return (
    <>
      {pages.rows.length > 0 && (
        <p class="quiet">
          Each is a folder with all data. To restore one, copy it and start a server with <Mono>DATA_DIR</Mono> set to
          the copy.
        </p>
      )}
      <PagedTable label="Backups" columns={COLUMNS} pages={pages} keyOf={({ name }) => name} none={<NoBackup />} />
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

const COLUMNS: readonly Column<Backup>[] = [
  { title: 'Created', cell: ({ at }) => <Time at={at} /> },
  {
    title: 'State',
    cell: ({ verified }) => <Badge tone={verified ? 'good' : 'warn'}>{verified ? 'Verified' : 'Changed since'}</Badge>,
  },
  { title: 'Folder', cell: ({ name }) => <Mono>{name}</Mono>, spare: 2 },
  { title: 'Records', cell: ({ records }) => number(records), end: true, spare: 1 },
  { title: 'Audit entries', cell: ({ auditEntries }) => number(auditEntries), end: true, spare: 3 },
  { title: 'Size', cell: ({ bytes }) => `${number(bytes / MEGABYTE, 1)} MB`, end: true },
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
