import type { AuditEntry } from '../../../resources/audit-entry.ts';
import { act, boot, counted, useMay, usePagedList } from '../app.ts';
import { Connect } from '../components/connect/connect.tsx';
import { Connector } from '../components/connect/connector.tsx';
import { FirstUse } from '../components/connect/first-use.tsx';
import { shortName } from '../components/connect/hosts.ts';
import { AskFirst, foldedTools } from '../components/folded-tools.tsx';
import { NarrowAccessButton, takingBy } from '../components/narrow-access.tsx';
import { EarlierSecrets, RotateButton } from '../components/rotate.tsx';
import { ToolsPicker } from '../components/tools-picker.tsx';
import { UndoButton } from '../components/undo.tsx';
import { kindPage, type Row } from '../kind/kind-page.tsx';
import { ActionButton, Badge, type Column, Empty, Link, Mono, PagedTable, showSecret, Time } from '../ui.ts';
import { usePolling } from '../use-polling.ts';
import { budgetsTab } from './budgets/budget.tsx';
import { Constraints } from './capsules/constraints.tsx';
import { CapsulePreview } from './capsules/preview.tsx';

const DeniedTools = foldedTools({
  text: 'Deny some of them',
  icon: 'minus',
  hint: 'Names or patterns that beat the allowed ones.',
});

export const Page = kindPage('capsule', {
  subtitle: 'description',
  empty: 'A capsule is an MCP endpoint of its own with the tools that you pick, for one client, with one token.',
  columns: [
    { title: 'Status', cell: (row: Row) => <Badge value={String(row.status)} />, width: '7.5rem' },
    { title: 'Calls', cell: (row: Row) => String(row.callCount), alignEnd: true, hidePriority: 2 },
    { title: 'Used', cell: (row: Row) => <Time at={row.lastUsedAt as string} />, alignEnd: true, hidePriority: 1 },
  ],
  without: [
    'ownerId',
    'createdBy',
    'tokenPrefix',
    'earlierTokens',
    'callCount',
    'lastUsedAt',
    'allowedTools',
    'deniedTools',
  ],
  hidden: ['endEarlierTokens'],
  fields: {
    name: { hint: 'Whom it is for, like Partner bot.' },
    description: {},
    allowedTools: {},
    deniedTools: {},
    askFirst: {},
    constraints: {},
    expiresAt: { label: 'Expires', hint: 'The address stops working then. Default: never.' },
    callsPerMinute: { label: 'Rate limit', hint: 'In calls a minute, like 60. Default: no limit.' },
  },
  above: EarlierTokens,
  controls: { allowedTools: ToolsPicker, deniedTools: DeniedTools, askFirst: AskFirst, constraints: Constraints },
  start: { status: 'live' },
  draft: CapsulePreview,
  actions: CapsuleActions,
  tabs: (row) => [
    { id: 'tools', label: 'Tools', content: () => <CapsulePreview value={{}} id={String(row.id)} /> },
    { id: 'connect', label: 'Connect', content: () => <ConnectorOf row={row} /> },
    { id: 'use', label: 'Use', content: () => <CapsuleUse row={row} /> },
    budgetsTab('capsule', row),
  ],
  loss: () => 'Its endpoint and its tokens stop at once, and every client that uses them is cut off.',
  onCreated: (made) =>
    showSecret(
      `The token of ${made.name}`,
      String(made.token),
      <>
        <Connect name={shortName(String(made.name))} url={endpointOf(made)} token={String(made.token)} />
        <FirstUse
          tool="get_capsule"
          input={{ id: made.id }}
          isUsed={({ lastUsedAt }: Row) => lastUsedAt !== undefined}
          waits="Waiting for the first client…"
        />
      </>,
    ),
});

function endpointOf({ id }: Row): string {
  return `${location.origin}${boot.base}/api/capsules/${encodeURIComponent(String(id))}/mcp`;
}

function ConnectorOf({ row }: { readonly row: Row }) {
  const { id, name, ownerId } = row;
  const shown = { id: String(id), name: String(name), url: endpointOf(row) };
  return <Connector capsule={{ ...shown, isOwn: ownerId === boot.user.id }} />;
}

function CapsuleActions({ row }: { readonly row: Row }) {
  const isLive = row.status === 'live';
  const toggle = () => act('update_capsule', { id: row.id, status: isLive ? 'disabled' : 'live' });
  const rotating = {
    id: String(row.id),
    name: String(row.name),
    word: 'token',
    tool: 'rotate_capsule_token',
    url: endpointOf(row),
    warning: 'Clients with the old token, and apps that were connected with it, are cut off when it stops.',
  } as const;
  return (
    <>
      <ActionButton
        needs="update_capsule"
        text={isLive ? 'Stop serving' : 'Serve'}
        icon={isLive ? 'stop' : 'play'}
        run={toggle}
      />
      {row.ownerId === boot.user.id && <RotateButton of={rotating} />}
    </>
  );
}

function EarlierTokens({ row }: { readonly row: Row }) {
  const end = { tool: 'update_capsule', input: { id: row.id, endEarlierTokens: true } };
  return <EarlierSecrets earlier={row.earlierTokens} word="token" end={end} />;
}

function CapsuleUse({ row }: { readonly row: Row }) {
  const may = useMay('list_audit_entries');
  const asked = { principal: String(row.id), limit: 50 };
  usePolling(true);
  const pages = usePagedList<AuditEntry>(may ? 'list_audit_entries' : undefined, asked);
  const none = (
    <Empty title="Nobody has used it yet">Connect a client, then its calls stand here, refused ones too.</Empty>
  );
  return (
    <div class="overview">
      <p>
        <strong>{counted(Number(row.callCount ?? 0), 'call')}</strong>
        {row.lastUsedAt ? (
          <span class="quiet">
            , the last <Time at={String(row.lastUsedAt)} />
          </span>
        ) : null}
      </p>
      <div class="actions">
        <UndoButton by={{ capsuleId: String(row.id) }} />
        <NarrowAccessButton
          of={{ capsuleId: String(row.id) }}
          tools="allowedTools"
          taking={takingBy('update_capsule', String(row.id))}
        />
      </div>
      <PagedTable label="Calls" columns={COLUMNS} pages={pages} none={none} />
    </div>
  );
}

const COLUMNS: readonly Column<AuditEntry>[] = [
  { title: 'Tool', cell: ({ tool }) => <Mono>{tool}</Mono> },
  { title: 'Outcome', cell: ({ outcome }) => <Badge value={outcome} /> },
  {
    title: 'Request',
    cell: ({ requestId }) => <Link to={`/audit?requestId=${encodeURIComponent(requestId)}`}>Follow</Link>,
    hidePriority: 2,
  },
  { title: 'When', cell: ({ at }) => <Time at={at} />, alignEnd: true },
];
