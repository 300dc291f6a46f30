import { useEffect, useRef, useState } from 'preact/hooks';
import { act, counted, go, text, useAnswer, useMay, useNames, usePagedList, useTitle } from '../../app.ts';
import { Form } from '../../components/form/form.tsx';
import { useLive } from '../../live-updates.ts';
import {
  Badge,
  Button,
  ConfirmDialog,
  Dialog,
  Empty,
  ErrorBox,
  LinkButton,
  Menu,
  Ref,
  Skeleton,
  toast,
} from '../../ui.ts';
import { AccessDialog } from './access-dialog.tsx';
import { Composer } from './composer.tsx';
import { Answering, Messages } from './messages.tsx';
import type { MessageRow, ThreadRow } from './records.ts';
import { type Run, take, useRun } from './run.ts';

/** One conversation. */
export function Thread({ id }: { readonly id: string }) {
  const { data: thread, error } = useAnswer<ThreadRow>('get_thread', { id });
  useLive([`thread://${id}`]);
  useTitle(thread?.title);
  const run = useRun();
  const begun = useRef(false);
  useEffect(() => {
    const sent = begun.current ? undefined : take(id);
    begun.current = true;
    if (sent) void run.send(sent);
  });
  if (error && !thread) {
    return (
      <section class="detail-pane">
        <Empty title="There is no such thread" action={<LinkButton text="All threads" to="/chat" />}>
          It was deleted, or you have no access to it.
        </Empty>
      </section>
    );
  }
  if (!thread) {
    return (
      <section class="detail-pane" aria-busy="true">
        <Skeleton lines={6} />
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

function Conversation({ thread, run }: { readonly thread: ThreadRow; readonly run: Run }) {
  const { id } = thread;
  const { rows, more, loading } = usePagedList<MessageRow>('list_messages', { id, limit: 50 });
  const mayFork = useMay('fork_thread');
  const maySend = useMay('send_chat_message');
  const agentId = thread.agentIds?.[0];
  const messages = [...rows].reverse();
  const end = useEnd(`${rows[0]?.id} ${run.running?.text.length} ${run.running?.steps.length}`);
  const fork = async (messageId: string) => {
    const made = await act<{ id: string }>('fork_thread', { id, messageId });
    go(`/chat/${made.id}`);
    toast('This is the fork; the thread it came from stays as it is.');
  };
  const onFork = mayFork
    ? (messageId: string) => void fork(messageId).catch((problem) => toast(String(problem.message)))
    : undefined;
  return (
    <>
      <div class="conversation-scroll">
        {more && (
          <div class="load-more">
            <Button text="Earlier messages" onClick={more} />
          </div>
        )}
        {messages.length === 0 && !run.running && !loading && <Empty title="Nothing was said yet" />}
        <Messages messages={withoutSent(messages, run.running?.said)} onFork={onFork} />
        {run.running && <Answering running={run.running} agentId={agentId} />}
        {run.error !== undefined && <ErrorBox error={run.error} />}
        <div ref={end} />
      </div>
      {maySend && thread.status === 'active' && (
        <Composer onSend={(message) => run.send({ message, threadId: id })} onStop={run.running && run.stop} />
      )}
    </>
  );
}

/** While an answer is on its way, what was said is shown with it, also once the thread has it. */
function withoutSent(messages: readonly MessageRow[], said: string | undefined): readonly MessageRow[] {
  if (said === undefined) return messages;
  const last = messages.findLastIndex(({ role }) => role === 'user');
  return messages[last]?.content === said ? messages.slice(0, last) : messages;
}

/** Keeps the end in view when something is added. */
function useEnd(key: string) {
  const end = useRef<HTMLDivElement>(null);
  useEffect(() => end.current?.scrollIntoView({ block: 'end' }), [key]);
  return end;
}

type Asks = 'rename' | 'delete' | 'access' | undefined;

function ThreadBar({ thread }: { readonly thread: ThreadRow }) {
  const names = useNames();
  const [asks, setAsks] = useState<Asks>();
  const { id, title, status, revision } = thread;
  const update = (change: object) => act('update_thread', { id, ...change, expectedRevision: revision });
  const setStatus = async (next: ThreadRow['status']) => {
    await update({ status: next });
    toast(next === 'archived' ? 'The thread is archived.' : 'The thread is active again.');
  };
  const items = [
    ...(names.has('update_thread')
      ? [
          { label: 'Rename', icon: 'edit' as const, run: () => setAsks('rename') },
          status === 'active'
            ? { label: 'Archive', icon: 'artifact' as const, run: () => void setStatus('archived') }
            : { label: 'Make active again', icon: 'refresh' as const, run: () => void setStatus('active') },
        ]
      : []),
    ...(names.has('delete_thread')
      ? [{ label: text.delete, icon: 'trash' as const, alarm: true, run: () => setAsks('delete') }]
      : []),
  ];
  return (
    <header class="detail-bar">
      <LinkButton look="quiet" icon="back" label="All threads" to="/chat" />
      <h1 class="thread-title">{title}</h1>
      {status === 'archived' && <Badge tone="plain">Archived</Badge>}
      <span class="thread-agents">
        {thread.agentIds?.map((agent) => (
          <Ref key={agent} id={agent} />
        ))}
      </span>
      <span class="page-actions">
        {names.has('get_thread_access') && (
          <Button
            text={thread.visibility === 'restricted' ? 'Restricted' : 'Workspace'}
            onClick={() => setAsks('access')}
            icon={thread.visibility === 'restricted' ? 'shield' : 'users'}
          />
        )}
        <Menu items={items} />
      </span>
      <Questions asks={asks} thread={thread} onClose={() => setAsks(undefined)} />
    </header>
  );
}

function Questions({ asks, thread, onClose }: Readonly<{ asks: Asks; thread: ThreadRow; onClose: () => void }>) {
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
