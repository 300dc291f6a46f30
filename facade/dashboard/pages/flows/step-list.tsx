import { at, useTools } from '../../app.ts';
import type { Row } from '../../kind/spec.ts';
import { Json, Mono, Ref } from '../../ui.ts';
import { stepsOf } from './step.ts';
import { triggerWords } from './trigger.ts';

/** What starts a flow and what it then does, in order. */
export function StepList({ row }: { readonly row: Row }) {
  const tools = useTools();
  const steps = stepsOf(row.steps);
  const { name: actor } = (row.runAs ?? {}) as { readonly name?: string }; // as the schema of a flow says
  return (
    <>
      <ol class="timeline">
        <li>
          <span class="timeline-title">{triggerWords(row.trigger)}</span>
        </li>
        {typeof row.agentId === 'string' && (
          <li>
            <span class="timeline-title">
              <Ref id={row.agentId} /> works on the prompt
            </span>
          </li>
        )}
        {steps.map(({ id, tool, arguments: args = {}, when, onError, retry }) => (
          <li key={id}>
            <details>
              <summary>
                <span class="timeline-title">{tools?.get(tool)?.title ?? tool}</span> <Mono>{id}</Mono>
                {when !== undefined && <span class="faint"> if {when}</span>}
              </summary>
              <p class="quiet">
                <a href={at(`/tools/${tool}`)}>{tool}</a>
                {retry && retry.attempts > 1 && `, up to ${retry.attempts} tries ${retry.delayMs / 1000} s apart`}
                {onError === 'continue' && ', the flow goes on if it fails'}
              </p>
              <Json value={args} label={`Arguments of ${id}`} />
            </details>
          </li>
        ))}
      </ol>
      {actor !== undefined && <p class="quiet">Runs have the rights of {actor}, who made it or changed it last.</p>}
    </>
  );
}
