import type { z } from 'zod';
import type { Backup } from '../../../resources/backup.ts';
import type { systemHealth } from '../../../resources/health.ts';
import { act, number, useAnswer, useMay, usePagedList } from '../app.ts';
import {
  ActionButton,
  Badge,
  type Column,
  Empty,
  ErrorBox,
  Mono,
  PageBody,
  PagedTable,
  Skeleton,
  Time,
} from '../ui.ts';

export function Page() {
  const { data, error } = useAnswer<z.infer<typeof systemHealth>>('get_system_health');
  const backups = data?.integrations.find(({ name }) => name === 'backups');
  const backUp = backups && (
    <ActionButton needs="create_backup" text="Back up now" look="primary" icon="archive" run={makeBackup} />
  );
  return (
    <PageBody title="Backups" actions={backUp}>
      {error && <ErrorBox error={error} />}
      {!data && !error && <Skeleton lines={4} />}
      {data && !backups && <None store={data.integrations[0]?.kind} />}
      {backups && (
        <>
          {backups.lastError !== undefined && (
            <div class="note warn" role="note">
              <p>{backups.lastError}</p>
            </div>
          )}
          <Kept />
        </>
      )}
    </PageBody>
  );
}

async function makeBackup(): Promise<string> {
  const { records } = await act<Backup>('create_backup');
  return `Everything is in a new backup, ${number(records)} records, and was checked.`;
}

function Kept() {
  const pages = usePagedList<Backup>('list_backups', { limit: 50 });
  const mayMake = useMay('create_backup');
  const none = (
    <Empty title="No backup yet">
      Each will be a folder with all data, read and counted after it was written.
      {mayMake && ' Make the first one now.'}
    </Empty>
  );
  return (
    <>
      {pages.rows.length > 0 && (
        <p class="quiet">
          Each is a folder with all data. To restore one, copy it and start a server with <Mono>DATA_DIR</Mono> set to
          the copy.
        </p>
      )}
      <PagedTable label="Backups" columns={COLUMNS} pages={pages} keyOf={({ name }) => name} none={none} />
    </>
  );
}

const MEGABYTE = 1024 * 1024;

const COLUMNS: readonly Column<Backup>[] = [
  { title: 'Created', cell: ({ at }) => <Time at={at} /> },
  {
    title: 'State',
    cell: ({ verified }) => <Badge tone={verified ? 'good' : 'warn'}>{verified ? 'Verified' : 'Changed since'}</Badge>,
  },
  { title: 'Folder', cell: ({ name }) => <Mono>{name}</Mono>, hidePriority: 2 },
  { title: 'Records', cell: ({ records }) => number(records), alignEnd: true, hidePriority: 1 },
  { title: 'Audit entries', cell: ({ auditEntries }) => number(auditEntries), alignEnd: true, hidePriority: 3 },
  { title: 'Size', cell: ({ bytes }) => `${number(bytes / MEGABYTE, 1)} MB`, alignEnd: true },
];

function None({ store }: { readonly store: string | undefined }) {
  return store === 'postgres' ? (
    <Empty title="The data is in a PostgreSQL database">
      This server does not back it up. Use <Mono>pg_dump</Mono>, or what the provider of the database offers.
    </Empty>
  ) : (
    <Empty title="This server makes no backups">
      Start it with <Mono>BACKUP_FOLDER</Mono> set to a folder, best on another disk: then it makes one each day.
    </Empty>
  );
}
