import { kindPage } from '../kind/kind-page.tsx';

export const Page = kindPage({
  one: 'user',
  many: 'users',
  path: '/users',
  words: { one: 'user', many: 'users' },
  title: 'email',
  subtitle: 'name',
  id: 'uid',
  idInput: 'userId',
  avatar: true,
  empty: 'Import the users of your product to see them here.',
});
