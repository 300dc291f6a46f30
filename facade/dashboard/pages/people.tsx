import { kindPage } from '../kind/kind-page.tsx';

export const Page = kindPage({
  one: 'admin_user',
  many: 'admin_users',
  path: '/people',
  words: { one: 'admin user', many: 'admin users' },
  title: 'email',
  subtitle: 'name',
  avatar: true,
  empty: 'People who administer this workspace.',
});
