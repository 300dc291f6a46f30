import { LinkButton } from '../components/button.tsx';
import { kindPage } from '../kind/kind-page.tsx';
import type { Row } from '../kind/spec.ts';
import { useMay } from '../tools.ts';

export const Page = kindPage({
  one: 'agent',
  many: 'agents',
  path: '/agents',
  words: { one: 'agent', many: 'agents' },
  title: 'displayName',
  subtitle: 'description',
  avatar: true,
  versions: 'agent',
  empty: 'An agent answers people and does work with the tools that you allow it.',
  blocks: ['instructions'],
  without: ['identity'],
  actions: TalkButton,
});

function TalkButton({ row }: { readonly row: Row }) {
  const may = useMay('send_chat_message');
  if (!may || row.status !== 'active') return null;
  return (
    <LinkButton icon="chat" to={`/chat/new?agent=${encodeURIComponent(String(row.id))}`}>
      Chat
    </LinkButton>
  );
}
