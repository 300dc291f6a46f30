import { useState } from 'preact/hooks';
import { useTool } from '../../../app.ts';
import { Field, JsonText, TextField } from '../../../components/form/field.tsx';
import { MemberParts } from '../../../components/form/groups.tsx';
import { Select } from '../../../components/form/select.tsx';
import { issueAt, type Members, type PartProps } from '../../../components/form/state.ts';
import { NobodyApproves } from '../../../components/only-approver.tsx';
import { ToolPicker } from '../../../components/tool-catalog.tsx';
import type { JsonSchema } from '../../../schema.ts';
import { ArgumentPart } from './argument-part.tsx';
import { DataField } from './data-field.tsx';
import type { Step } from './words.ts';

type StepSettingsProps = Pick<PartProps, 'path' | 'issues'> & Readonly<{ step: Step; onChange: (step: Step) => void }>;

/** All that a step holds: the tool, what it is given, when it runs, and what happens if it fails. */
export function StepSettings(props: StepSettingsProps) {
  const { step, path, issues, onChange } = props;
  const issue = (member: string) => issueAt({ path: `${path}.${member}`, issues });
  return (
    <>
      <ToolPicker name={step.tool} needed issue={issue('tool')} onPick={(name) => onChange({ ...step, tool: name })} />
      <Arguments key={step.tool} {...props} />
      <Conditions {...props} />
      <details class="advanced" open={issue('id') !== undefined}>
        <summary>Advanced</summary>
        <div class="form">
          <TextField
            label="Name of its answer"
            hint="Letters, digits and _. Later steps that use it follow."
            issue={issue('id')}
            value={step.id}
            onType={(id) => onChange({ ...step, id })}
          />
          <JsonText
            name="arguments"
            path={`${path}.arguments`}
            schema={{ title: 'What it is given, as JSON' }}
            needed={false}
            value={step.arguments ?? {}}
            issues={[]}
            onChange={(given) =>
              onChange({ ...step, arguments: given as Members /* or the server says that it is none */ })
            }
          />
        </div>
      </details>
    </>
  );
}

function Arguments(props: StepSettingsProps) {
  const schema = useTool(props.step.tool)?.inputSchema;
  return schema ? <ArgumentsOf {...props} schema={schema} /> : null;
}

function ArgumentsOf({ step, path, issues, onChange, schema }: StepSettingsProps & { readonly schema: JsonSchema }) {
  const value = (step.arguments ?? {}) as Members; // or the server says that it is none
  const known = schema.properties ?? {};
  const others = Object.fromEntries(Object.entries(value).filter(([name]) => !Object.hasOwn(known, name)));
  const inside = `${path}.arguments`;
  const give = (given: Members) => {
    const filled = Object.entries(given).filter(([, member]) => member !== undefined);
    onChange({ ...step, arguments: Object.fromEntries(filled) });
  };
  const names = Object.keys(known);
  const needed = new Set(schema.required ?? []);
  // Chosen once, so that no field moves while somebody writes in it.
  const [first] = useState(() => names.filter((name) => needed.has(name) || value[name] !== undefined));
  const isFirst = (name: string) => first.includes(name);
  const more = names.filter((name) => !isFirst(name));
  const parts = { schema, path: inside, value, issues, onChange: give, part: ArgumentPart };
  const folds = more.length > 3 && more.length < names.length;
  const isWrong = (name: string) => issues.some((one) => one.path.startsWith(`${inside}.${name}`));
  return (
    <fieldset class="form plain-group">
      <legend class="visually-hidden">What it is given</legend>
      {names.length === 0 && Object.keys(others).length === 0 && <p class="quiet">This tool needs nothing.</p>}
      <MemberParts {...parts} hidden={folds ? more : []} />
      {folds && (
        <details class="advanced" open={more.some(isWrong)}>
          <summary>{`${more.length} more that it takes`}</summary>
          <div class="form">
            <MemberParts {...parts} hidden={names.filter(isFirst)} />
          </div>
        </details>
      )}
      {Object.keys(others).length > 0 && (
        <JsonText
          name="others"
          path={inside}
          schema={{ title: 'Others', description: 'The tool does not name these.' }}
          needed={false}
          value={others}
          issues={issues}
          onChange={(given) => {
            const own = Object.fromEntries(Object.entries(value).filter(([name]) => Object.hasOwn(known, name)));
            give({ ...own, ...(given as Members | undefined) }); // or the server says that it is none
          }}
        />
      )}
    </fieldset>
  );
}

function Conditions(props: StepSettingsProps) {
  const { step, path, issues, onChange } = props;
  const isUsual = step.when === undefined && step.onError !== 'continue' && (step.retry?.attempts ?? 1) === 1;
  const places = ['when', 'retry', 'onError'].map((member) => `${path}.${member}`);
  const isWrong = issues.some((one) => places.some((place) => one.path.startsWith(place)));
  return (
    <>
      <label class="check">
        <input
          type="checkbox"
          checked={step.approval === true}
          onChange={({ currentTarget }) =>
            onChange(currentTarget.checked ? { ...step, approval: true } : without(step, 'approval'))
          }
        />
        <span>Ask a person first</span>
      </label>
      {step.approval === true && <NobodyApproves />}
      <details class="advanced" open={!isUsual || isWrong}>
        <summary>When it runs, and if it fails</summary>
        <div class="form">
          <DataField
            label="Only if"
            hint="A condition such as input.amount > 100. Empty: always."
            issue={issueAt({ path: `${path}.when`, issues })}
            isCode
            value={step.when ?? ''}
            written={({ path: data }) => data}
            onType={(when) => onChange(when === '' ? without(step, 'when') : { ...step, when })}
          />
          <Failing {...props} />
        </div>
      </details>
    </>
  );
}

function without(step: Step, member: 'when' | 'approval'): Step {
  const { [member]: _, ...rest } = step;
  return rest;
}

const ON_ERROR = [
  { value: 'stop', label: 'The flow stops' },
  { value: 'continue', label: 'The flow goes on' },
];

function Failing({ step, path, issues, onChange }: StepSettingsProps) {
  const { attempts = 1, delayMs = 1000 } = step.retry ?? {};
  const issue = (member: string) => issueAt({ path: `${path}.${member}`, issues });
  return (
    <>
      <Field label="If it fails" issue={issue('onError')}>
        {(tied) => (
          <Select
            {...tied}
            value={step.onError ?? 'stop'}
            options={ON_ERROR}
            onPick={(onError) => onChange({ ...step, onError: onError === 'continue' ? 'continue' : 'stop' })}
          />
        )}
      </Field>
      <TextField
        label="Tries"
        issue={issue('retry.attempts')}
        input={{ type: 'number', min: 1, max: 10 }}
        value={attempts}
        onType={(typed) => onChange({ ...step, retry: { attempts: Number(typed), delayMs } })}
      />
      {attempts > 1 && (
        <TextField
          label="Seconds between tries"
          issue={issue('retry.delayMs')}
          input={{ type: 'number', min: 0, max: 3600, step: 'any' }}
          value={delayMs / 1000}
          onType={(typed) => onChange({ ...step, retry: { attempts, delayMs: Math.round(Number(typed) * 1000) } })}
        />
      )}
    </>
  );
}
