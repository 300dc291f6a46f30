import { go, setQuery, useMay, useNames, usePagedList, usePlace } from '../../app.ts';
import { Avatar, Empty, ErrorBox, Link, useAction } from '../../ui.ts';
import { Composer } from './composer.tsx';
import { beginThread, leave } from './run.ts';

type AgentRow = Readonly<{ id: string; displayName: string; description?: string; status: string }>;

/** Picks an agent and says the first thing to it. */
export function NewChat() {
  const may = useMay('send_chat_message');
  const names = useNames();
  const mayMake = useMay('create_agent');
  const { query } = usePlace();
  const { rows } = usePagedList<AgentRow>(names.has('list_agents') ? 'list_agents' : undefined, { limit: 100 });
  const agents = rows.filter(({ status }) => status === 'active');
  const picked = query.get('agent') ?? undefined;
  const { error, run } = useAction();
  const send = async (message: string) => {
    const threadId = await beginThread(message, picked);
    leave(threadId, { message, threadId, agentId: picked });
    go(`/chat/${threadId}`);
  };
  if (!may) return <Empty title="Pick a thread">You may read threads, not write to them.</Empty>;
  return (
    <section class="detail-pane conversation new-chat" aria-label="New chat">
      <div class="new-chat-body">
        <h2>Whom do you want to ask?</h2>
        <div class="agent-choice" role="radiogroup" aria-label="Agent">
          {agents.map(({ id, displayName, description }) => (
            <label key={id} class={picked === id ? 'agent-card picked' : 'agent-card'}>
              <input
                type="radio"
                class="only-heard"
                name="agent"
                checked={picked === id}
                onChange={() => setQuery({ agent: id })}
              />
              <Avatar name={displayName} />
              <span class="name-words">
                <span class="name-title">{displayName}</span>
                <span class="name-more">{description}</span>
              </span>
            </label>
          ))}
          <label class={picked === undefined ? 'agent-card picked' : 'agent-card'}>
            <input
              type="radio"
              class="only-heard"
              name="agent"
              checked={picked === undefined}
              onChange={() => setQuery({ agent: undefined })}
            />
            <Avatar name="?" />
            <span class="name-words">
              <span class="name-title">The default assistant</span>
              <span class="name-more">As the settings say</span>
            </span>
          </label>
        </div>
        {agents.length === 0 && mayMake && (
          <p class="quiet">
            There are no agents yet. <Link to="/agents/new">Make one</Link> with instructions and tools of its own.
          </p>
        )}
        {error !== undefined && <ErrorBox error={error} />}
      </div>
      <Composer onSend={(message) => run(() => send(message))} />
    </section>
  );
}
