import { useEffect, useRef, useState } from 'preact/hooks';
import type { Message } from '../../../../resources/message.ts';
import type { Thread as ThreadRecord, ThreadSummary } from '../../../../resources/thread.ts';
import { act, counted, go, text, useAnswer, useMay, usePagedList, useTitle } from '../../app.ts';
import { Form } from '../../components/form/form.tsx';
import { useLive } from '../../live-updates.ts';
import {
  Badge,
  Button,
  ConfirmDialog,
  DetailBar,
  Dialog,
  Empty,
  ErrorBox,
  LinkButton,
  Menu,
  type MenuItem,
  Ref,
  Skeleton,
  toast,
  withToast,
} from '../../ui.ts';
import { AccessDialog } from './access-dialog.tsx';
import { Composer } from './composer.tsx';
import { useCosts } from './cost.tsx';
import { Answering, Messages } from './messages.tsx';
import { type Run, type Running, take, useRun } from './run.ts';

export function Thread({ id }: { readonly id: string }) {
  const { data: thread, error } = useAnswer<ThreadRecord>('get_thread', { id });
  useLive([`thread://${id}`]);
  useTitle(thread?.title);
  const run = useRun();
  const begun = useRef(false);
  useEffect(() => {
    const sent = begun.current ? undefined : take(id);
    begun.current = true;
    if (sent) void run.send(sent);
  });
  if (!thread) {
    const none = (
      <Empty title="There is no such thread" action={<LinkButton text="All threads" to="/chat" />}>
        It was deleted, or you have no access to it.
      </Empty>
    );
    return (
      <section class="detail-pane" aria-busy={!error}>
        {error ? none : <Skeleton lines={6} />}
      </section>
    );
  }
  return (
    <section class="detail-pane conversation" aria-label={thread.title}>
      <ThreadBar thread={thread} />
      <Conversation thread={thread} run={run} />
    </section>
  );
}

function Conversation({ thread, run }: { readonly thread: ThreadRecord; readonly run: Run }) {
  const { id } = thread;
  const { rows, more, loading } = usePagedList<Message>('list_messages', { id, limit: 50 });
  const { data: page } = useAnswer<{ readonly summary?: ThreadSummary }>('list_messages', { id, limit: 1 });
  const mayFork = useMay('fork_thread');
  const costs = useCosts(id);
  const maySend = useMay('send_chat_message');
  const messages = [...rows].reverse();
  const answering = useUntilLoaded(run.running, loading);
  const end = useRef<HTMLDivElement>(null);
  // The end stays in view when something is added.
  useEffect(
    () => end.current?.scrollIntoView({ block: 'end' }),
    [rows[0]?.id, run.running?.text.length, run.running?.steps.length],
  );
  const fork = (messageId: string) =>
    void withToast(async () => {
      go(`/chat/${(await act<{ id: string }>('fork_thread', { id, messageId })).id}`);
      return 'This is the fork; the thread it came from stays as it is.';
    });
  return (
    <>
      <div class="conversation-scroll">
        {more && (
          <div class="load-more">
            <Button text="Earlier messages" onClick={more} />
          </div>
        )}
        {messages.length === 0 && !answering && !loading && <Empty title="Nothing was said yet" />}
        <Messages
          messages={withoutSent(messages, answering?.message)}
          summary={page?.summary}
          onFork={mayFork ? fork : undefined}
          costs={costs}
        />
        {answering && <Answering running={answering} agentId={thread.agentIds?.[0]} />}
        {run.error !== undefined && <ErrorBox error={run.error} />}
        <div ref={end} />
      </div>
      {maySend && thread.status === 'active' && (
        <Composer
          onSend={(said) => run.send({ ...said, threadId: id })}
          onStop={run.running && run.stop}
          returned={run.returned}
        />
      )}
    </>
  );
}

/** The answer on its way, until the thread has it: else it would be gone for a moment. */
function useUntilLoaded(running: Running | undefined, loading: boolean): Running | undefined {
  const last = useRef(running);
  if (running || !loading) last.current = running;
  return last.current;
}

/** While an answer is on its way, what was said is shown with it, also once the thread has it. */
function withoutSent(messages: readonly Message[], said: string | undefined): readonly Message[] {
  if (said === undefined) return messages;
  const last = messages.findLastIndex(({ role }) => role === 'user');
  return messages[last]?.content === said ? messages.slice(0, last) : messages;
}

type Asks = 'rename' | 'delete' | 'access' | undefined;

function ThreadBar({ thread }: { readonly thread: ThreadRecord }) {
  const [asks, setAsks] = useState<Asks>();
  const { id, title, status, revision } = thread;
  const isRestricted = thread.visibility === 'restricted';
  const update = (change: object) => act('update_thread', { id, ...change, expectedRevision: revision });
  const setStatus = async (next: ThreadRecord['status']) => {
    await update({ status: next });
    toast(next === 'archived' ? 'The thread is archived.' : 'The thread is active again.');
  };
  const needs = 'update_thread';
  const items: MenuItem[] = [
    { label: 'Rename', icon: 'edit', needs, run: () => setAsks('rename') },
    status === 'active'
      ? { label: 'Archive', icon: 'artifact', needs, run: () => void setStatus('archived') }
      : { label: 'Make active again', icon: 'refresh', needs, run: () => void setStatus('active') },
    { label: text.delete, icon: 'trash', alarm: true, needs: 'delete_thread', run: () => setAsks('delete') },
  ];
  return (
    <DetailBar all="threads" to="/chat">
      <h1 class="thread-title">{title}</h1>
      {status === 'archived' && <Badge tone="plain">Archived</Badge>}
      <span class="thread-agents">
        {thread.agentIds?.map((agent) => (
          <Ref key={agent} id={agent} />
        ))}
      </span>
      <span class="page-actions">
        <Button
          needs="get_thread_access"
          text={isRestricted ? 'Restricted' : 'Workspace'}
          onClick={() => setAsks('access')}
          icon={isRestricted ? 'shield' : 'users'}
        />
        <Menu items={items} />
      </span>
      <Questions asks={asks} thread={thread} onClose={() => setAsks(undefined)} />
    </DetailBar>
  );
}

function Questions({ asks, thread, onClose }: Readonly<{ asks: Asks; thread: ThreadRecord; onClose: () => void }>) {
  const { id, title, messageCount, revision } = thread;
  if (asks === 'access') return <AccessDialog id={id} onClose={onClose} />;
  if (asks === 'rename') {
    return (
      <Dialog title="Rename the thread" onClose={onClose}>
        <Form
          tool="update_thread"
          record={{ ...thread }}
          given={{ id, expectedRevision: revision }}
          hidden={['status', 'agentIds']}
          run={async (input) => {
            await act('update_thread', input);
            onClose();
          }}
          onCancel={onClose}
        />
      </Dialog>
    );
  }
  if (asks !== 'delete') return null;
  const remove = async () => {
    await act('delete_thread', { id, expectedRevision: revision });
    go('/chat');
    toast(`${title} is deleted.`);
  };
  return (
    <ConfirmDialog title={`Delete ${title}?`} action="Delete thread" typed={title} run={remove} onClose={onClose}>
      <p>{counted(messageCount, 'message')} and its access entries are deleted for good. Its forks stay.</p>
    </ConfirmDialog>
  );
}
