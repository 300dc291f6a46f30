import { kindPage } from '../kind/kind-page.tsx';
import { Billing } from './users/billing.tsx';
import { Timeline, Websites } from './users/lists.tsx';

export const Page = kindPage('user', {
  subtitle: 'name',
  id: 'uid',
  idInput: 'userId',
  avatar: true,
  empty: 'Import the users of your product to see them here.',
  source: { label: 'Import users', to: '/import', needs: 'import_records' },
  tabs: ({ uid }) => [
    { id: 'billing', label: 'Billing', content: () => <Billing userId={String(uid)} /> },
    { id: 'websites', label: 'Websites', content: () => <Websites userId={String(uid)} /> },
    { id: 'timeline', label: 'Timeline', content: () => <Timeline userId={String(uid)} /> },
  ],
});
