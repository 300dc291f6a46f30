import type { Thread as ThreadRecord } from '../../../resources/thread.ts';
import { counted, go, setQuery, useAnswer, useLocation, useMay, useNames, usePagedList } from '../app.ts';
import { FilterText } from '../components/filters.tsx';
import { optionsOf, Select } from '../components/form/select.tsx';
import { useLive } from '../live-updates.ts';
import {
  Avatar,
  Badge,
  type Column,
  Empty,
  ErrorBox,
  FilteredRows,
  Link,
  LinkButton,
  NameAndMore,
  PageHead,
  Time,
  useAction,
} from '../ui.ts';
import { Composer } from './chat/composer.tsx';
import { beginThread, leave, type Said } from './chat/run.ts';
import { Thread } from './chat/thread.tsx';

export function Page() {
  const [, open] = useLocation().parts;
  return (
    <div class={open === undefined ? 'kind chat with-new' : 'kind chat with-detail'}>
      <ThreadList open={open} />
      {open === undefined || open === 'new' ? <NewChat /> : <Thread key={open} id={open} />}
    </div>
  );
}

function ThreadList({ open }: { readonly open: string | undefined }) {
  const { query } = useLocation();
  const status = query.get('status') === 'archived' ? 'archived' : 'active';
  const typed = (query.get('q') ?? '').toLowerCase();
  const pages = usePagedList<ThreadRecord>('list_threads', { status, limit: 100 });
  useLive(['thread://']);
  const shown = pages.rows.filter(({ title }) => title.toLowerCase().includes(typed));
  const none = (
    <Empty title={typed === '' ? 'No threads here' : 'No threads match'}>
      {status === 'archived' ? 'Archived threads appear here.' : 'Say something to an agent to begin one.'}
    </Empty>
  );
  return (
    <section class="list-pane" aria-label="Threads">
      <PageHead title="Chat">
        <LinkButton needs="send_chat_message" text="New chat" look="primary" icon="plus" to="/chat/new" />
      </PageHead>
      <div class="filters">
        <FilterText label="Filter threads" />
        <Select
          class="filter-choice"
          aria-label="Status"
          value={status}
          options={optionsOf(['active', 'archived'])}
          onPick={(picked) => setQuery({ status: picked === 'active' ? undefined : picked })}
        />
      </div>
      <FilteredRows
        label="Threads"
        columns={COLUMNS}
        pages={{ ...pages, rows: shown, more: shown.length > 0 ? pages.more : undefined }}
        to={({ id }) => `/chat/${id}${location.search}`}
        picked={open}
        none={none}
      />
    </section>
  );
}

/** The title has the whole width, so that most are read to their end; the others on pointing at them. */
const COLUMNS: readonly Column<ThreadRecord>[] = [
  {
    title: 'Thread',
    cell: ({ title, messageCount, visibility, ...row }) => (
      <span class="name-words">
        <span class="name-title" title={title}>
          {title}
        </span>
        <span class="name-more thread-facts">
          <span>
            {counted(messageCount, 'message')} {visibility === 'restricted' && <Badge tone="plain">Restricted</Badge>}
          </span>
          <Time at={row.lastMessageAt ?? row.createdAt} />
        </span>
      </span>
    ),
  },
];

type AgentRow = Readonly<{ id: string; displayName: string; description?: string; status: string }>;

function NewChat() {
  const may = useMay('send_chat_message');
  const names = useNames();
  const mayMake = useMay('create_agent');
  const model = useDefaultModel();
  const { query } = useLocation();
  const { rows } = usePagedList<AgentRow>(names.has('list_agents') ? 'list_agents' : undefined, { limit: 100 });
  const agents = rows.filter(({ status }) => status === 'active');
  const picked = query.get('agent') ?? undefined;
  const { error, run } = useAction();
  const send = async (said: Said) => {
    const threadId = await beginThread(said, picked);
    leave({ ...said, threadId, agentId: picked });
    go(`/chat/${threadId}`);
  };
  if (!may) return <Empty title="Pick a thread">You may read threads, not write to them.</Empty>;
  return (
    <section class="detail-pane conversation new-chat" aria-label="New chat">
      <div class="new-chat-body">
        <h2>Whom do you want to ask?</h2>
        <div class="agent-choice" role="radiogroup" aria-label="Agent">
          {agents.map(({ id, displayName, description }) => (
            <AgentCard key={id} id={id} name={displayName} about={description} picked={picked === id} />
          ))}
          <AgentCard name="The default assistant" about={model ?? 'Default model'} picked={picked === undefined} />
        </div>
        {agents.length === 0 && mayMake && (
          <p class="quiet">
            There are no agents yet. <Link to="/agents/new">Make one</Link> with instructions and tools of its own.
          </p>
        )}
        {error !== undefined && <ErrorBox error={error} />}
      </div>
      <Composer onSend={(said) => run(() => send(said))} />
    </section>
  );
}

/** The model of who names none, as far as the person may know it. */
function useDefaultModel(): string | undefined {
  const may = useMay('get_bot_config');
  return useAnswer<{ readonly defaultModel?: string }>(may ? 'get_bot_config' : undefined).data?.defaultModel;
}

type AgentCardProps = Readonly<{ id?: string; name: string; about: string | undefined; picked: boolean }>;

function AgentCard({ id, name, about, picked }: AgentCardProps) {
  const pick = () => setQuery({ agent: id });
  return (
    <label class={picked ? 'agent-card picked' : 'agent-card'}>
      <input type="radio" class="visually-hidden" name="agent" checked={picked} onChange={pick} />
      <Avatar name={id === undefined ? '?' : name} />
      <NameAndMore name={name}>{about}</NameAndMore>
    </label>
  );
}
