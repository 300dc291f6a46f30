import { Badge, Time } from '../components/small.tsx';
import { kindPage } from '../kind/kind-page.tsx';
import type { Row } from '../kind/spec.ts';
import { Passkeys } from './account/passkeys.tsx';
import { PersonActions } from './people/actions.tsx';
import { Holdings } from './people/holdings.tsx';

export const Page = kindPage('admin-user', {
  subtitle: 'name',
  avatar: true,
  empty: 'People who administer this workspace.',
  columns: [
    { title: 'Role', cell: (row: Row) => <Badge tone="plain">{String(row.role)}</Badge>, spare: 2, width: '10rem' },
    {
      title: 'Active',
      cell: ({ isActive }: Row) => <Badge tone={isActive ? 'good' : 'plain'}>{isActive ? 'Yes' : 'No'}</Badge>,
      spare: 1,
      width: '6rem',
    },
    { title: 'Since', cell: (row: Row) => <Time at={row.createdAt as string} />, end: true, spare: 2 },
  ],
  actions: PersonActions,
  tabs: (row) => [
    { id: 'holdings', label: 'Acting on their behalf', content: () => <Holdings row={row} /> },
    { id: 'passkeys', label: 'Passkeys', content: () => <Passkeys userId={String(row.id)} /> },
  ],
});
