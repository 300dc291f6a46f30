import { Connect, shortName } from '../components/connect/connect.tsx';
import { kindPage } from '../kind/kind-page.tsx';
import type { Row } from '../kind/spec.ts';
import { Badge, SecretOnce, showDialog, Time } from '../ui.ts';
import { budgetsTab } from './budgets/budgets-of.tsx';
import { EarlierOfKey, KeyActions, stateOf } from './keys/actions.tsx';
import { unifiedEndpoint } from './keys/endpoint.ts';
import { ExplainKey } from './keys/explain.tsx';
import { rightsOf, ScopesControl } from './keys/scopes-control.tsx';

export const Page = kindPage('key', {
  empty: 'A key lets a program call with a part of your rights, over MCP and REST.',
  columns: [
    { title: 'Rights', cell: (row: Row) => rightsOf(row), spare: 2, width: '14rem' },
    { title: 'State', cell: (row: Row) => <Badge value={stateOf(row)} />, width: '7.5rem' },
    { title: 'Used', cell: (row: Row) => <Time at={row.lastUsedAt as string} />, end: true, spare: 2 },
  ],
  without: ['endsWith', 'createdBy', 'earlierSecrets'],
  above: EarlierOfKey,
  controls: { scopes: ScopesControl },
  start: { scopes: ['read'] },
  actions: KeyActions,
  tabs: (row) => [
    { id: 'explain', label: 'What it can do', content: () => <ExplainKey id={String(row.id)} /> },
    budgetsTab('key', row),
  ],
  onCreated: (made) =>
    showDialog((close) => (
      <SecretOnce title={`The secret of ${String(made.name)}`} secret={String(made.secret)} onClose={close}>
        <Connect name={shortName(String(made.name))} url={unifiedEndpoint()} token={String(made.secret)} />
      </SecretOnce>
    )),
});
