import type { FlowStep } from '../../../../resources/flow.ts';
import { at, useTool, useTools } from '../../app.ts';
import { JsonText, TextField } from '../../components/form/field.tsx';
import { Frame } from '../../components/form/groups.tsx';
import { MoveButtons } from '../../components/form/move-buttons.tsx';
import { issueAt, type PartProps } from '../../components/form/state.ts';
import { ToolPicker } from '../../components/tool-catalog.tsx';
import type { Row } from '../../kind/spec.ts';
import { Button, Json, Mono, Ref } from '../../ui.ts';

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
        {steps.map(({ id, tool, arguments: args = {}, when, approval, onError, retry }) => (
          <li key={id}>
            <details>
              <summary>
                <span class="timeline-title">{tools?.get(tool)?.title ?? tool}</span> <Mono>{id}</Mono>
                {when !== undefined && <span class="faint"> if {when}</span>}
              </summary>
              <p class="quiet">
                <a href={at(`/tools/${tool}`)}>{tool}</a>
                {retry && retry.attempts > 1 && `, up to ${retry.attempts} tries ${retry.delayMs / 1000} s apart`}
                {approval && ', asks a person first'}
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

/** As its form holds it. */
type Step = Pick<FlowStep, 'id' | 'tool'> & Partial<FlowStep>;

function stepsOf(value: unknown): readonly Step[] {
  return Array.isArray(value) ? value : [];
}

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

export function StepsControl(props: PartProps) {
  const { value, onChange, path, issues } = props;
  const steps = stepsOf(value);
  const give = (next: readonly Step[]) => onChange(next.length > 0 ? next : undefined);
  return (
    <Frame {...props}>
      {steps.map((step, index) => (
        <fieldset key={index} class="step-card">
          <legend class="visually-hidden">Step {index + 1}</legend>
          <header class="step-head">
            <span class="step-number">{index + 1}</span>
            <MoveButtons items={steps} index={index} name={`Step ${index + 1}`} onChange={give} />
          </header>
          <StepFields
            step={step}
            path={`${path}[${index}]`}
            issues={issues}
            onChange={(next) => give(steps.map((other, at) => (at === index ? next : other)))}
          />
        </fieldset>
      ))}
      <Button
        text="Add step"
        icon="plus"
        onClick={() => give([...steps, { id: freeId(steps), tool: '', arguments: {} }])}
      />
    </Frame>
  );
}

function freeId(steps: readonly Step[]): string {
  for (let count = steps.length + 1; ; count += 1) {
    if (!steps.some(({ id }) => id === `step${count}`)) return `step${count}`;
  }
}

type StepFieldsProps = Pick<PartProps, 'path' | 'issues'> & Readonly<{ step: Step; onChange: (step: Step) => void }>;

function StepFields({ step, path, issues, onChange }: StepFieldsProps) {
  const tool = useTool(step.tool);
  const issue = (member: string) => issueAt({ path: `${path}.${member}`, issues });
  const inside = issues.find((one) => one.path.startsWith(`${path}.arguments`));
  return (
    <>
      <ToolPicker name={step.tool} needed issue={issue('tool')} onPick={(name) => onChange({ ...step, tool: name })} />
      <TextField
        label="Name of its output"
        needed
        issue={issue('id')}
        value={step.id}
        onType={(id) => onChange({ ...step, id })}
      />
      <JsonText
        name="arguments"
        path={`${path}.arguments`}
        schema={{ description: membersOf(tool?.inputSchema.properties, tool?.inputSchema.required) }}
        needed={false}
        value={step.arguments ?? {}}
        issues={
          inside
            ? [{ path: `${path}.arguments`, message: `${inside.path.slice(path.length + 1)}: ${inside.message}` }]
            : issues
        }
        onChange={(given) => onChange({ ...step, arguments: (given ?? {}) as FlowStep['arguments'] })}
      />
      <MoreOfStep step={step} path={path} issues={issues} onChange={onChange} />
    </>
  );
}

function membersOf(properties: object | undefined, required: readonly string[] = []): string {
  const names = Object.keys(properties ?? {}).map((name) => (required.includes(name) ? name : `${name}?`));
  const takes = names.length > 0 ? `Takes ${names.join(', ')}. ` : '';
  return `${takes}Texts may hold {{ input.name }} and {{ steps.<name>.output.member }}.`;
}

function MoreOfStep({ step, path, issues, onChange }: StepFieldsProps) {
  const { attempts = 1, delayMs = 1000 } = step.retry ?? {};
  const isUsual = step.when === undefined && !step.approval && step.onError !== 'continue' && attempts === 1;
  return (
    <details class="step-more" open={!isUsual}>
      <summary>Condition, approval, retries, errors</summary>
      <TextField
        label="Only if"
        hint="A condition such as input.amount > 100"
        issue={issueAt({ path: `${path}.when`, issues })}
        input={{ class: 'input code-input' }}
        value={step.when ?? ''}
        onType={(when) => {
          const { when: _, ...rest } = step;
          onChange(when === '' ? rest : { ...step, when });
        }}
      />
      <TextField
        label="Tries"
        issue={issueAt({ path: `${path}.retry.attempts`, issues })}
        input={{ type: 'number', min: 1, max: 10 }}
        value={attempts}
        onType={(typed) => onChange({ ...step, retry: { attempts: Number(typed), delayMs } })}
      />
      <label class="check">
        <input
          type="checkbox"
          checked={step.approval === true}
          onChange={({ currentTarget }) => {
            const { approval: _, ...rest } = step;
            onChange(currentTarget.checked ? { ...step, approval: true } : rest);
          }}
        />
        Ask a person first
      </label>
      <label class="check">
        <input
          type="checkbox"
          checked={step.onError === 'continue'}
          onChange={({ currentTarget }) => onChange({ ...step, onError: currentTarget.checked ? 'continue' : 'stop' })}
        />
        Go on if it fails
      </label>
    </details>
  );
}
