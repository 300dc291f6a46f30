import { Connect, shortName } from '../components/connect/connect.tsx';
import { ToolsPicker } from '../components/tools-picker.tsx';
import { kindPage } from '../kind/kind-page.tsx';
import type { Row } from '../kind/spec.ts';
import { Badge, SecretOnce, showDialog, Time } from '../ui.ts';
import { budgetsTab } from './budgets/budgets-of.tsx';
import { CapsuleActions, EarlierTokens, endpointOf } from './capsules/actions.tsx';
import { Constraints } from './capsules/constraints.tsx';
import { DeniedTools } from './capsules/denied-tools.tsx';
import { FirstUse } from './capsules/first-use.tsx';
import { CapsulePreview } from './capsules/preview.tsx';
import { CapsuleUse } from './capsules/use.tsx';

export const Page = kindPage('capsule', {
  subtitle: 'description',
  empty: 'A capsule is an MCP endpoint of its own with the tools that you pick, for one client, with one token.',
  columns: [
    { title: 'Status', cell: (row: Row) => <Badge value={String(row.status)} />, spare: 2, width: '8rem' },
    { title: 'Calls', cell: (row: Row) => String(row.callCount), end: true, spare: 2 },
    { title: 'Used', cell: (row: Row) => <Time at={row.lastUsedAt as string} />, end: true, spare: 1 },
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
  controls: { allowedTools: ToolsPicker, deniedTools: DeniedTools, constraints: Constraints },
  start: { status: 'live' },
  draft: CapsulePreview,
  actions: CapsuleActions,
  tabs: (row) => [
    { id: 'tools', label: 'Tools', content: () => <CapsulePreview value={{}} id={String(row.id)} /> },
    {
      id: 'connect',
      label: 'Connect',
      content: () => (
        <Connect name={shortName(String(row.name))} url={endpointOf(row)} token={`cpt_${row.tokenPrefix}_…`} />
      ),
    },
    { id: 'use', label: 'Use', content: () => <CapsuleUse row={row} /> },
    budgetsTab('capsule', row),
  ],
  loss: () => 'Its endpoint and its tokens stop at once, and every client that uses them is cut off.',
  onCreated: (made) =>
    showDialog((close) => (
      <SecretOnce title={`The token of ${String(made.name)}`} secret={String(made.token)} onClose={close}>
        <Connect name={shortName(String(made.name))} url={endpointOf(made)} token={String(made.token)} />
        <FirstUse id={String(made.id)} />
      </SecretOnce>
    )),
});
