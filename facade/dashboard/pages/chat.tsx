import { usePlace } from '../router.ts';
import { NewChat } from './chat/new-chat.tsx';
import { Thread } from './chat/thread.tsx';
import { ThreadList } from './chat/thread-list.tsx';

/** Conversations with agents: all threads, and one of them or a new one beside the list. */
export function Page() {
  const [, open] = usePlace().parts;
  return (
    <div class={open === undefined ? 'kind chat with-new' : 'kind chat with-detail'}>
      <ThreadList open={open} />
      {open === undefined || open === 'new' ? <NewChat /> : <Thread key={open} id={open} />}
    </div>
  );
}
