import { kindPage } from '../kind/kind-page.tsx';

export const Page = kindPage({
  one: 'api_key',
  many: 'api_keys',
  path: '/keys',
  words: { one: 'key', many: 'keys' },
  title: 'name',
  empty: 'A key lets a program call with a part of your rights.',
});
