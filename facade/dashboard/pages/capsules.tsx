import { useEffect } from 'preact/hooks';
import type { AuditEntry } from '../../../resources/audit-entry.ts';
import { act, boot, counted, invalidate, useAnswer, useMay, usePagedList } from '../app.ts';
import { Connect, shortName } from '../components/connect/connect.tsx';
import { AskFirst, foldedTools } from '../components/folded-tools.tsx';
import { NarrowAccessButton } from '../components/narrow-access.tsx';
import { EarlierSecrets, RotateButton } from '../components/rotate.tsx';
import { ToolsPicker } from '../components/tools-picker.tsx';
import { UndoButton } from '../components/undo.tsx';
import { kindPage, type Row } from '../kind/kind-page.tsx';
import { ActionButton, Badge, type Column, Empty, Icon, Link, Mono, PagedTable, showSecret, Time } from '../ui.ts';
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
    { title: 'Status', cell: (row: Row) => <Badge value={String(row.status)} />, hidePriority: 2, width: '8rem' },
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
  above: EarlierTokens,
  controls: { allowedTools: ToolsPicker, deniedTools: DeniedTools, askFirst: AskFirst, constraints: Constraints },
  start: { status: 'live' },
  draft: CapsulePreview,
  actions: CapsuleActions,
  tabs: (row) => [
    { id: 'tools', label: 'Tools', content: () => <CapsulePreview value={{}} id={String(row.id)} /> },
    { id: 'connect', label: 'Connect', content: () => <ConnectTo row={row} token={`cpt_${row.tokenPrefix}_…`} /> },
    { id: 'use', label: 'Use', content: () => <CapsuleUse row={row} /> },
    budgetsTab('capsule', row),
  ],
  loss: () => 'Its endpoint and its tokens stop at once, and every client that uses them is cut off.',
  onCreated: (made) =>
    showSecret(
      `The token of ${made.name}`,
      String(made.token),
      <>
        <ConnectTo row={made} token={String(made.token)} />
        <FirstUse id={String(made.id)} />
      </>,
    ),
});

function endpointOf({ id }: Row): string {
  return `${location.origin}${boot.base}/api/capsules/${encodeURIComponent(String(id))}/mcp`;
}

function ConnectTo({ row, token }: { readonly row: Row; readonly token: string }) {
  return <Connect name={shortName(String(row.name))} url={endpointOf(row)} token={token} />;
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

const LOOK_EVERY_MS = 2000;

/** Shows when a client first used a new capsule, as proof that the connection works. */
function FirstUse({ id }: { readonly id: string }) {
  const { data } = useAnswer<Row>('get_capsule', { id });
  const isUsed = data?.lastUsedAt !== undefined;
  useEffect(() => {
    if (isUsed) return undefined;
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible')
        invalidate((tool, input) => tool === 'get_capsule' && 'id' in input && input.id === id);
    }, LOOK_EVERY_MS);
    return () => clearInterval(timer);
  }, [isUsed, id]);
  return (
    <p class={isUsed ? 'note good first-use' : 'note first-use'} role="status">
      {isUsed ? <Icon name="check" /> : <span class="spinner" />}
      {isUsed ? 'It works: a client has connected.' : 'Waiting for the first client…'}
    </p>
  );
}

function CapsuleUse({ row }: { readonly row: Row }) {
  const may = useMay('list_audit_entries');
  const asked = { principal: String(row.id), limit: 50 };
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
          taking={{ tool: 'update_capsule', id: String(row.id) }}
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
