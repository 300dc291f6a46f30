import type { ComponentChildren } from 'preact';
import type { Message } from '../../../../resources/message.ts';
import type { ThreadSummary } from '../../../../resources/thread.ts';
import { boot, counted, go, useAnswer, useMay } from '../../app.ts';
import { Prose } from '../../components/prose.tsx';
import { Avatar, Badge, Icon, Json, LinkButton, Menu, type MenuItem, Mono, Time } from '../../ui.ts';
import { type Costs, Spent } from './cost.tsx';
import { MessageFiles, SentFiles } from './message-files.tsx';
import type { Running } from './run.ts';
import { Sources } from './sources.tsx';
import { WaitingCalls, waitsFor } from './waiting.tsx';
import { WhyButton } from './why.tsx';

type OnFork = { onFork: ((id: string) => void) | undefined; costs?: Costs | undefined };

type Shown = Readonly<{ messages: readonly Message[]; summary?: ThreadSummary | undefined }>;

export function Messages({ messages, summary, onFork, costs }: Shown & OnFork) {
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
          ({ id, role, toolCalls, ...message }) =>
            id === summary?.messageId || (role !== 'tool' && (isSaid(message) || toolCalls?.length)),
        )
        .map((message) => (
          <li key={message.id}>
            {isSaid(message) && message.role !== 'tool' && <Said message={message} onFork={onFork} costs={costs} />}
            {message.toolCalls?.map((toolCall) => (
              <Called key={toolCall.id} toolCall={toolCall} result={results.get(toolCall.id)} />
            ))}
            {summary?.messageId === message.id && <Summarised summary={summary} />}
          </li>
        ))}
    </ol>
  );
}

function isSaid({ content, attachments }: Pick<Message, 'content' | 'attachments'>): boolean {
  return content !== '' || attachments !== undefined;
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
            ? 'The messages above are no longer in its context; no summary could be made.'
            : 'Instead of the messages above, it reads this summary:'}
        </p>
        {text !== undefined && <Prose text={text} />}
      </div>
    </details>
  );
}

function Said({ message, onFork, costs }: Readonly<{ message: Message } & OnFork>) {
  const { id, role, content, createdAt, usage, failed, runId, citations = [], attachments } = message;
  const readsRuns = useMay('get_agent_run');
  const waiting = role === 'assistant' ? waitsFor(content) : [];
  const isAnswer = waiting.length === 0;
  const items: MenuItem[] = [
    { label: 'Copy the text', icon: 'copy', run: () => void navigator.clipboard.writeText(content) },
    ...(runId !== undefined && readsRuns && role === 'assistant'
      ? [{ label: 'Sources and steps', icon: 'eye' as const, run: () => go(`/runs/${encodeURIComponent(runId)}`) }]
      : []),
    ...(onFork ? [{ label: 'Fork from here', icon: 'fork' as const, run: () => onFork(id) }] : []),
  ];
  const more = (
    <>
      {failed && <Badge tone="alarm">Failed</Badge>}
      {isAnswer && runId !== undefined && role === 'assistant' && <WhyButton messageId={id} />}
      {isAnswer && usage && <Spent usage={usage} run={costs?.get(runId ?? '')} />}
      <span class="faint">
        <Time at={createdAt} />
      </span>
      <Menu items={items} label="More of this message" />
    </>
  );
  return (
    <Turn by={role} agentId={message.agentId} more={more}>
      {isAnswer ? content !== '' && <Prose text={content} /> : <WaitingCalls calls={waiting} />}
      {role === 'assistant' && content.includes(OFFLINE_LABEL) && (
        <p class="turn-set-up">
          <LinkButton needs="create_model_provider" text="Set up a model" icon="model" to="/models" />
        </p>
      )}
      {attachments && <MessageFiles threadId={message.threadId} files={attachments} />}
      {citations.length > 0 && <Sources citations={citations} />}
    </Turn>
  );
}

/** Begins what the built-in model ends its answers with. */
const OFFLINE_LABEL = '(offline/rehearsal:';

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
  const answer = result && parsed(result.content);
  return (
    <details class="called">
      <summary>
        <Icon name="tool" size={14} /> Called <Mono>{toolCall.tool}</Mono>
        {result?.failed && <FailedBadge answer={answer} />}
      </summary>
      <div class="called-body">
        <Json value={toolCall.arguments} label={`Input of ${toolCall.tool}`} />
        {result && <Json value={answer} label={`Answer of ${toolCall.tool}`} />}
      </div>
    </details>
  );
}

/** That it waits for a person is no failure. */
function FailedBadge({ answer }: { readonly answer: unknown }) {
  const code = typeof answer === 'object' && answer !== null && 'code' in answer ? answer.code : undefined;
  return <Badge {...(code === 'approval_required' ? { value: code } : { tone: 'alarm', children: 'Failed' })} />;
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
        {running.message !== '' && <Prose text={running.message} />}
        {running.files.length > 0 && <SentFiles files={running.files} share={running.share} />}
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
