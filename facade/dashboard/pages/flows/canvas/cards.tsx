import type { ComponentChildren } from 'preact';
import type { FlowRunStep } from '../../../../../resources/flow-run.ts';
import { duration, labelOf, useTools } from '../../../app.ts';
import { Badge, Icon, type IconName, Ref } from '../../../ui.ts';
import { schemeNamed } from '../signature.tsx';
import { givenWords, notesOf, type Step, toolIcon, triggerIcon, triggerOf, triggerWords } from './words.ts';

/** What a card shows and tells, whatever it stands for. */
interface CardProps {
  readonly icon: IconName;
  readonly title: ComponentChildren;
  /** Beside the title, for example the state in a run. */
  readonly state?: ComponentChildren;
  readonly line?: ComponentChildren;
  readonly notes?: readonly string[];
  readonly look?: string | undefined;
  readonly picked?: boolean | undefined;
  readonly id?: string;
  /** Opens what belongs to the card. Without it, the card is only seen. */
  readonly onPick?: (() => void) | undefined;
  readonly onKeyDown?: (event: KeyboardEvent) => void;
}

export function Card({ icon, title, state, line, notes = [], look = '', picked, id, onPick, onKeyDown }: CardProps) {
  const inside = (
    <>
      <span class="flow-card-icon">
        <Icon name={icon} />
      </span>
      <span class="flow-card-words">
        <span class="flow-card-title">{title}</span>
        {line && <span class="flow-card-line">{line}</span>}
        {notes.length > 0 && (
          <span class="flow-notes">
            {notes.map((note) => (
              <span key={note}>{note}</span>
            ))}
          </span>
        )}
      </span>
      {state && <span class="flow-card-state">{state}</span>}
    </>
  );
  if (!onPick) return <div class={`flow-card ${look}`}>{inside}</div>;
  return (
    <button
      type="button"
      id={id}
      class={`flow-card ${look}`}
      aria-expanded={picked === true}
      onClick={onPick}
      onKeyDown={onKeyDown}
    >
      {inside}
    </button>
  );
}

type Picked = Pick<CardProps, 'picked' | 'onPick' | 'id' | 'onKeyDown' | 'look'>;

/** What starts the flow. */
export function TriggerCard({
  trigger,
  line,
  ...picked
}: Picked & { readonly trigger: unknown; readonly line?: string }) {
  const { signature, kind } = triggerOf(trigger);
  const from = signature
    ? `Signed by ${schemeNamed(signature.scheme).who}`
    : kind === 'webhook'
      ? 'With an API key'
      : '';
  return <Card icon={triggerIcon(trigger)} title={triggerWords(trigger)} line={line ?? from} {...picked} />;
}

type StepCardProps = Picked & { readonly step: Step; readonly run?: FlowRunStep | undefined };

/** A step; with what became of it, where it is one of a run. */
export function StepCard({ step, run, look, ...picked }: StepCardProps) {
  const tools = useTools();
  const { id, tool } = step;
  const title = tool === '' ? 'Nothing chosen yet' : (tools?.get(tool)?.title ?? labelOf(tool));
  const name = (
    <>
      {title} <span class="mono faint">{id}</span>
    </>
  );
  return (
    <Card
      icon={toolIcon(tool)}
      title={name}
      state={run && <StateOf run={run} />}
      line={givenWords(step.arguments)}
      notes={notesOf(step)}
      look={run ? `step-${run.status}` : look}
      {...picked}
    />
  );
}

function StateOf({ run: { status, attempts, startedAt, finishedAt } }: { readonly run: FlowRunStep }) {
  return (
    <>
      <Badge value={status} />
      <span class="faint">
        {duration(startedAt, finishedAt)}
        {attempts > 1 && `, ${attempts} tries`}
      </span>
    </>
  );
}

/** The agent that does the work instead of steps. */
export function AgentCard({ agentId, prompt, ...picked }: Picked & Readonly<{ agentId: string; prompt?: unknown }>) {
  const line = typeof prompt === 'string' ? givenWords({ prompt }) : 'Is given the input';
  return (
    <Card
      icon="agent"
      title={
        picked.onPick ? (
          'An agent works on the prompt'
        ) : (
          <>
            <Ref id={agentId} /> works on the prompt
          </>
        )
      }
      line={line}
      {...picked}
    />
  );
}
