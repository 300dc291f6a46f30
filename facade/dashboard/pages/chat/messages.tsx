import type { ComponentChildren } from 'preact';
import type { Message } from '../../../../resources/message.ts';
import type { ThreadSummary } from '../../../../resources/thread.ts';
import { boot, counted, go, number, useAnswer, useMay } from '../../app.ts';
import { Prose } from '../../components/prose.tsx';
import { Avatar, Badge, Icon, Json, Menu, type MenuItem, Mono, Time } from '../../ui.ts';
import { tokensTitle } from '../usage/numbers.ts';
import type { Running } from './run.ts';
import { Sources } from './sources.tsx';

type OnFork = { onFork: ((id: string) => void) | undefined };

type Shown = Readonly<{ messages: readonly Message[]; summary?: ThreadSummary | undefined }>;

export function Messages({ messages, summary, onFork }: Shown & OnFork) {
  const answers = messages.filter(({ role }) => role === 'tool');
  const results = new Map(answers.map((message) => [message.toolCallId, message]));
  const isAbove = !messages.some(({ id }) => id === summary?.messageId);
  return (
    <ol class="messages">
      {summary && isAbove && messages.length > 0 && (
        <li>
          <Summarised summary={summary} />
        </li>
      )}
      {messages
        .filter(
          ({ id, role, content, toolCalls }) =>
            id === summary?.messageId || (role !== 'tool' && (content !== '' || toolCalls?.length)),
        )
        .map((message) => (
          <li key={message.id}>
            {message.content !== '' && message.role !== 'tool' && <Said message={message} onFork={onFork} />}
            {message.toolCalls?.map((toolCall) => (
              <Called key={toolCall.id} toolCall={toolCall} result={results.get(toolCall.id)} />
            ))}
            {summary?.messageId === message.id && <Summarised summary={summary} />}
          </li>
        ))}
    </ol>
  );
}

/** What the agent reads in place of the messages above. */
function Summarised({ summary: { text, messages, leftOut } }: { readonly summary: ThreadSummary }) {
  const left = leftOut > 0 && `${counted(leftOut, 'message')} of them left out`;
  return (
    <details class="called">
      <summary>
        <Icon name="memory" size={14} /> Earlier messages, {text === undefined ? 'left out' : 'summarised'}{' '}
        <span class="faint">
          {counted(messages, 'message')}
          {text !== undefined && left && `, ${left}`}
        </span>
      </summary>
      <div class="called-body">
        <p class="quiet">
          The conversation is longer than what the agent is given of it.{' '}
          {text === undefined
            ? 'It knows nothing of the messages above, as no summary could be made.'
            : 'In place of the messages above it reads this:'}
        </p>
        {text !== undefined && <Prose text={text} />}
      </div>
    </details>
  );
}

function Said({ message, onFork }: Readonly<{ message: Message } & OnFork>) {
  const { id, role, content, createdAt, usage, failed, runId, citations = [] } = message;
  const readsRuns = useMay('get_agent_run');
  const items: MenuItem[] = [
    { label: 'Copy the text', icon: 'copy', run: () => void navigator.clipboard.writeText(content) },
    ...(runId !== undefined && readsRuns && role === 'assistant'
      ? [{ label: 'What it rests on', icon: 'eye' as const, run: () => go(`/runs/${encodeURIComponent(runId)}`) }]
      : []),
    ...(onFork ? [{ label: 'Fork from here', icon: 'fork' as const, run: () => onFork(id) }] : []),
  ];
  const more = (
    <>
      {failed && <Badge tone="alarm">Failed</Badge>}
      {usage && (
        <span class="faint" title={tokensTitle(usage)}>
          {number(usage.inputTokens)} → {number(usage.outputTokens)}
        </span>
      )}
      <span class="faint">
        <Time at={createdAt} />
      </span>
      <Menu items={items} label="More of this message" />
    </>
  );
  return (
    <Turn by={role} agentId={message.agentId} more={more}>
      <Prose text={content} />
      {citations.length > 0 && <Sources citations={citations} />}
    </Turn>
  );
}

type TurnProps = Readonly<{ by: Message['role']; agentId?: string | undefined; more?: ComponentChildren }>;

function Turn({ by, agentId, more, children }: TurnProps & { readonly children: ComponentChildren }) {
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

function useSpeaker(by: Message['role'], agentId: string | undefined): string {
  const may = useMay('get_agent');
  const { data } = useAnswer<{ displayName: string }>(may && agentId ? 'get_agent' : undefined, { id: agentId });
  if (by === 'system') return 'System';
  return by === 'user' ? (boot.user.name ?? boot.user.email) : (data?.displayName ?? 'Assistant');
}

type CalledProps = Readonly<{ toolCall: NonNullable<Message['toolCalls']>[number]; result: Message | undefined }>;

function Called({ toolCall, result }: CalledProps) {
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

export function Answering({ running, agentId }: { readonly running: Running; readonly agentId: string | undefined }) {
  return (
    <div class="messages">
      <Turn by="user">
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
