import { useTool } from '../../app.ts';
import { Field, JsonText } from '../../components/form/field.tsx';
import { Frame } from '../../components/form/groups.tsx';
import { MoveButtons } from '../../components/form/move-buttons.tsx';
import { issueAt, type Members, type PartProps } from '../../components/form/state.ts';
import { ToolPicker } from '../../components/tool-catalog.tsx';
import { Button } from '../../ui.ts';
import { type Step, stepsOf } from './step-list.tsx';

/** The steps of a flow as a list that can be put in another order. */
export function StepsControl(props: PartProps) {
  const { value, onChange, path, issues } = props;
  const steps = stepsOf(value);
  const give = (next: readonly Step[]) => onChange(next.length > 0 ? next : undefined);
  return (
    <Frame {...props}>
      {steps.map((step, index) => (
        <fieldset key={index} class="step-card">
          <legend class="only-heard">Step {index + 1}</legend>
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

interface StepFieldsProps extends Pick<PartProps, 'path' | 'issues'> {
  readonly step: Step;
  readonly onChange: (step: Step) => void;
}

function StepFields({ step, path, issues, onChange }: StepFieldsProps) {
  const tool = useTool(step.tool);
  const issue = (member: string) => issueAt({ path: `${path}.${member}`, issues });
  const inside = issues.find((one) => one.path.startsWith(`${path}.arguments`));
  return (
    <>
      <ToolPicker name={step.tool} needed issue={issue('tool')} onPick={(name) => onChange({ ...step, tool: name })} />
      <Field label="Name of its output" needed issue={issue('id')}>
        {(tied) => (
          <input
            class="input"
            {...tied}
            value={step.id}
            onInput={({ currentTarget }) => onChange({ ...step, id: currentTarget.value })}
          />
        )}
      </Field>
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
        onChange={(given) => onChange({ ...step, arguments: (given ?? {}) as Members })}
      />
      <MoreOfStep step={step} path={path} issues={issues} onChange={onChange} />
    </>
  );
}

/** What the tool takes, so that nobody has to look it up. */
function membersOf(properties: object | undefined, required: readonly string[] = []): string {
  const names = Object.keys(properties ?? {}).map((name) => (required.includes(name) ? name : `${name}?`));
  const takes = names.length > 0 ? `Takes ${names.join(', ')}. ` : '';
  return `${takes}Texts may hold {{ input.name }} and {{ steps.<name>.output.member }}.`;
}

function MoreOfStep({ step, path, issues, onChange }: StepFieldsProps) {
  const { attempts = 1, delayMs = 1000 } = step.retry ?? {};
  const isUsual = step.when === undefined && step.onError !== 'continue' && attempts === 1;
  return (
    <details class="step-more" open={!isUsual}>
      <summary>Condition, retries, errors</summary>
      <Field
        label="Only if"
        hint="A condition such as input.amount > 100"
        issue={issueAt({ path: `${path}.when`, issues })}
      >
        {(tied) => (
          <input
            class="input code-input"
            {...tied}
            value={step.when ?? ''}
            onInput={({ currentTarget }) => {
              const { when: _, ...rest } = step;
              onChange(currentTarget.value === '' ? rest : { ...step, when: currentTarget.value });
            }}
          />
        )}
      </Field>
      <Field label="Tries" issue={issueAt({ path: `${path}.retry.attempts`, issues })}>
        {(tied) => (
          <input
            class="input"
            type="number"
            min={1}
            max={10}
            {...tied}
            value={attempts}
            onInput={({ currentTarget }) =>
              onChange({ ...step, retry: { attempts: Number(currentTarget.value), delayMs } })
            }
          />
        )}
      </Field>
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
