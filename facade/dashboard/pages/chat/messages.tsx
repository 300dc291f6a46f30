import type { ComponentChildren } from 'preact';
import { boot, go, number, useAnswer, useMay } from '../../app.ts';
import { Prose } from '../../components/prose.tsx';
import { Avatar, Badge, Icon, Json, Menu, type MenuItem, Mono, Time } from '../../ui.ts';
import type { MessageRow } from './records.ts';
import type { Running } from './run.ts';

/** What was said, oldest first, with what agents did on the way folded between. */
export function Messages({
  messages,
  onFork,
}: {
  readonly messages: readonly MessageRow[];
  readonly onFork?: ((id: string) => void) | undefined;
}) {
  const results = new Map(
    messages.filter(({ role }) => role === 'tool').map((message) => [message.toolCallId, message]),
  );
  return (
    <ol class="messages">
      {messages
        .filter(({ role, content, toolCalls }) => role !== 'tool' && (content !== '' || toolCalls?.length))
        .map((message) => (
          <li key={message.id}>
            {message.content !== '' && <Said message={message} onFork={onFork} />}
            {message.toolCalls?.map((toolCall) => (
              <Called key={toolCall.id} toolCall={toolCall} result={results.get(toolCall.id)} />
            ))}
          </li>
        ))}
    </ol>
  );
}

function Said({ message, onFork }: Readonly<{ message: MessageRow; onFork: ((id: string) => void) | undefined }>) {
  const { id, role, content, createdAt, usage, failed, runId } = message;
  const readsRuns = useMay('get_agent_run');
  const items: MenuItem[] = [
    { label: 'Copy the text', icon: 'copy', run: () => void navigator.clipboard.writeText(content) },
    ...(runId !== undefined && readsRuns && role === 'assistant'
      ? [{ label: 'What it rests on', icon: 'eye' as const, run: () => go(`/runs/${encodeURIComponent(runId)}`) }]
      : []),
    ...(onFork ? [{ label: 'Fork from here', icon: 'fork' as const, run: () => onFork(id) }] : []),
  ];
  return (
    <Turn
      by={role}
      agentId={message.agentId}
      more={
        <>
          {failed && <Badge tone="alarm">Failed</Badge>}
          {usage && (
            <span class="faint" title="Tokens read and written">
              {number(usage.inputTokens)} → {number(usage.outputTokens)}
            </span>
          )}
          <span class="faint">
            <Time at={createdAt} />
          </span>
          <Menu items={items} label="More of this message" />
        </>
      }
    >
      <Prose text={content} />
    </Turn>
  );
}

interface TurnProps {
  readonly by: MessageRow['role'];
  readonly agentId: string | undefined;
  readonly more?: ComponentChildren;
  readonly children: ComponentChildren;
}

function Turn({ by, agentId, more, children }: TurnProps) {
  const name = useSpeaker(by, agentId);
  return (
    <article class={`turn ${by}`} aria-label={name}>
      <Avatar name={name} size="s" />
      <div class="turn-body">
        <header class="turn-head">
          <span class="turn-name">{name}</span>
          <span class="turn-more">{more}</span>
        </header>
        {children}
      </div>
    </article>
  );
}

function useSpeaker(by: MessageRow['role'], agentId: string | undefined): string {
  const may = useMay('get_agent');
  const { data } = useAnswer<{ displayName: string }>(may && agentId ? 'get_agent' : undefined, { id: agentId });
  if (by === 'system') return 'System';
  return by === 'user' ? (boot.user.name ?? boot.user.email) : (data?.displayName ?? 'Assistant');
}

/** A tool call of the agent, folded: what it asked and what it got. */
function Called({
  toolCall,
  result,
}: {
  readonly toolCall: NonNullable<MessageRow['toolCalls']>[number];
  readonly result: MessageRow | undefined;
}) {
  return (
    <details class="called">
      <summary>
        <Icon name="tool" size={14} /> Called <Mono>{toolCall.tool}</Mono>
        {result?.failed && <Badge tone="alarm">Failed</Badge>}
      </summary>
      <div class="called-body">
        <Json value={toolCall.arguments} label={`Input of ${toolCall.tool}`} />
        {result && <Json value={parsed(result.content)} label={`Answer of ${toolCall.tool}`} />}
      </div>
    </details>
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The answer that is on its way. */
export function Answering({ running, agentId }: { readonly running: Running; readonly agentId: string | undefined }) {
  return (
    <div class="messages">
      <Turn by="user" agentId={undefined}>
        <Prose text={running.said} />
      </Turn>
      <Turn by="assistant" agentId={agentId}>
        {running.steps.map((step, index) => (
          <p key={`${index} ${step}`} class="step">
            <Icon name={/^Running/.test(step) ? 'clock' : 'tool'} size={14} /> {step.slice(0, 160)}
          </p>
        ))}
        {running.text === '' ? (
          <span class="typing" role="status" aria-label="The agent is working" />
        ) : (
          <Prose text={running.text} />
        )}
      </Turn>
    </div>
  );
}
