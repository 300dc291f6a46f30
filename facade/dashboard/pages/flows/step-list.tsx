import { at, useTools } from '../../app.ts';
import type { Row } from '../../kind/spec.ts';
import { Json, Mono, Ref } from '../../ui.ts';

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

/** A step of a flow, as the schema of a flow says. */
export interface Step {
  readonly id: string;
  readonly tool: string;
  readonly arguments?: Readonly<Record<string, unknown>>;
  readonly when?: string;
  readonly onError?: string;
  readonly retry?: { readonly attempts: number; readonly delayMs: number };
}

export function stepsOf(value: unknown): readonly Step[] {
  return Array.isArray(value) ? value : [];
}

/** What starts a flow, in words. */
export function triggerWords(trigger: unknown): string {
  const { kind, expression, timezone, type } = (trigger ?? {}) as Readonly<Record<string, string>>; // as the schema of a flow says
  if (kind === 'cron') return `${scheduleWords(expression ?? '')}, ${timezone}`;
  if (kind === 'event') return `On ${type}`;
  return kind === 'webhook' ? 'By webhook' : 'By hand';
}

/** Usual schedules; others are shown as they are written. */
const SCHEDULES: Readonly<Record<string, string>> = { '* * * * *': 'Every minute', '0 * * * *': 'Every hour' };

const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'] as const;

/** `0 8 * * 1` -> `Every Monday at 08:00`. What is rarer is shown as it is written. */
function scheduleWords(expression: string): string {
  const [, minute, hour, day, weekday] = /^(\d{1,2}) (\d{1,2}) (\*|1) \* (\*|[0-7])$/.exec(expression) ?? [];
  if (minute === undefined || hour === undefined || (day !== '*' && weekday !== '*')) {
    return SCHEDULES[expression] ?? `On schedule ${expression}`;
  }
  const every = day === '1' ? 'first of the month' : (DAYS[Number(weekday)] ?? 'day');
  return `Every ${every} at ${hour.padStart(2, '0')}:${minute.padStart(2, '0')}`;
}
