import { useState } from 'preact/hooks';
import type { FlowRun } from '../../../../../resources/flow-run.ts';
import { at, type ListAnswer, useAnswer, useTool } from '../../../app.ts';
import type { Row } from '../../../kind/spec.ts';
import { Badge, Fields, LinkButton, Mono, Time } from '../../../ui.ts';
import { pathOfRun } from '../run-words.ts';
import { Canvas } from './canvas.tsx';
import { AgentCard, StepCard, TriggerCard } from './cards.tsx';
import { notesOf, type Step, stepsOf } from './words.ts';

/** The flow as it is saved: what starts it, and what it does then. */
export function FlowCanvas({ row }: { readonly row: Row }) {
  const [picked, setPicked] = useState<string>();
  const steps = stepsOf(row.steps);
  const open = steps.find(({ id }) => id === picked);
  const { name: actor } = (row.runAs ?? {}) as { readonly name?: string }; // as the schema of a flow says
  const cards = steps.map((step) => ({
    key: step.id,
    card: (
      <StepCard
        step={step}
        picked={step.id === picked}
        onPick={() => setPicked(step.id === picked ? undefined : step.id)}
      />
    ),
  }));
  const agent =
    typeof row.agentId === 'string'
      ? [{ key: '@agent', card: <AgentCard agentId={row.agentId} prompt={row.prompt} /> }]
      : [];
  const isDraft = cards.length + agent.length === 0;
  return (
    <>
      <LastRun flowId={String(row.id)} />
      <Canvas
        label="What the flow does"
        items={[{ key: '@trigger', card: <TriggerCard trigger={row.trigger} /> }, ...cards, ...agent]}
        picked={picked}
        side={open && <SavedStep step={open} />}
      />
      {isDraft && <p class="note warn">It does nothing yet: edit it to add a step.</p>}
      {actor !== undefined && <p class="quiet">Runs have the rights of {actor}, who made it or changed it last.</p>}
    </>
  );
}

function LastRun({ flowId }: { readonly flowId: string }) {
  const { data } = useAnswer<ListAnswer<FlowRun>>('list_flow_runs', { id: flowId, limit: 1 });
  const [last] = data?.data ?? [];
  if (!last) return null;
  return (
    <p class="canvas-last">
      Last run <Badge value={last.status} /> <Time at={last.createdAt} />{' '}
      <LinkButton look="quiet" text="Show on the canvas" to={pathOfRun(last)} />
    </p>
  );
}

function SavedStep({ step }: { readonly step: Step }) {
  const tool = useTool(step.tool);
  const notes = notesOf(step);
  return (
    <>
      <h2>{tool?.title ?? step.tool}</h2>
      <p class="quiet">
        Its answer is called <Mono>{step.id}</Mono>
      </p>
      {notes.length > 0 && <p class="quiet">{notes.join('. ')}.</p>}
      {Object.keys(step.arguments ?? {}).length > 0 ? (
        <Fields record={step.arguments ?? {}} schema={tool?.inputSchema} />
      ) : (
        <p class="quiet">It is given nothing.</p>
      )}
      <p>
        <a href={at(`/tools/${step.tool}`)}>About this tool</a>
      </p>
    </>
  );
}
