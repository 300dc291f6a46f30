import { wordOf } from '../../format.ts';
import { refs } from '../../kinds.ts';
import type { JsonSchema } from '../../schema.ts';
import { text } from '../../text.ts';
import { useNames } from '../../tools.ts';
import { Field, IssueText, type Tied } from './field.tsx';
import { Picker } from './picker.tsx';
import { optionsOf, Select } from './select.tsx';
import { hintOf, isSecretText, issueAt, type PartProps, titleOf } from './state.ts';

const MANY_LINES =
  /^(instructions|description|content|prompt|text|message|bio|signature|summary|body|notes?|markdown|systemPrompt|persona|value)$/i;
const FEW_LINES = /^(description|bio|signature)$/;
/** Longer texts have many lines, whatever they are called. */
const ONE_LINE = 2000;

/** One value: a text, a number, a choice, a time, or a record that is picked. */
export function Control(props: PartProps) {
  const { schema, value, onChange, needed } = props;
  const label = titleOf(props);
  const issue = issueAt(props);
  if (schema.type === 'boolean') return <Check {...props} />;
  return (
    <Field label={label} hint={hintOf(schema)} needed={needed} issue={issue}>
      {(tied) => <Input {...props} tied={tied} value={value} onChange={onChange} />}
    </Field>
  );
}

/** The kind of record that a member refers to: said by a hint, by its description or by its name. */
export function refOf(name: string, schema: JsonSchema): string | undefined {
  const hinted = schema['x-ref'];
  if (hinted !== undefined) return refs[hinted] ? hinted : undefined;
  const list = /see (list_\w+)/.exec(schema.description ?? '')?.[1];
  if (list !== undefined) return Object.keys(refs).find((kind) => refs[kind]?.list === list);
  const kind = /^(?:\w*?)(agent|skill|flow|project|goal|task|document|database|capsule)Ids?$/i
    .exec(name)?.[1]
    ?.toLowerCase();
  return kind !== undefined && refs[kind] ? kind : undefined;
}

function Input({ name, schema, value, onChange, tied, inherited }: PartProps & { readonly tied: Tied }) {
  if (schema.enum) return <Choice {...{ schema, value, onChange, tied, inherited }} />;
  if (schema.type === 'integer' || schema.type === 'number') {
    return <NumberInput {...{ schema, value, onChange, tied, inherited }} />;
  }
  const shown = typeof value === 'string' ? value : '';
  const ref = refOf(name, schema);
  if (ref) return <Picker kind={ref} value={shown} {...{ onChange, tied, inherited }} />;
  if (schema.format === 'date-time') return <Moment value={shown} onChange={onChange} tied={tied} />;
  return <TextInput value={shown} {...{ name, schema, onChange, tied, inherited }} />;
}

type TextInputProps = Pick<PartProps, 'name' | 'schema'> & ControlProps & { readonly value: string };

function TextInput({ name, schema, value, onChange, tied, inherited }: TextInputProps) {
  const names = useNames();
  const control = schema['x-control'];
  const give = (event: { readonly currentTarget: { readonly value: string } }) => onChange(event.currentTarget.value);
  if (control === 'code' || (control === undefined && isLong(name, schema))) {
    const rows = Math.max(FEW_LINES.test(name) ? 3 : 6, value.split('\n').length + 1);
    const look = control === 'code' ? 'input code-input' : 'input';
    return <textarea class={look} {...tied} rows={Math.min(16, rows)} value={value} onInput={give} />;
  }
  const suggested =
    control === 'timezone' ? Intl.supportedValuesOf('timeZone') : schema['x-ref'] === 'tool' ? [...names] : undefined;
  if (suggested)
    return <Suggested {...{ value, onChange, tied, inherited }} options={suggested.map((one) => ({ value: one }))} />;
  const isSecret = isSecretText(name, schema);
  const type = isSecret ? 'password' : schema.format === 'date' ? 'date' : name === 'email' ? 'email' : 'text';
  return (
    <input
      class={control === 'cron' ? 'input code-input' : 'input'}
      type={type as 'text' /* Preact has a type for each kind of input, and this is one of four */}
      autocomplete={isSecret ? 'new-password' : 'off'}
      placeholder={inherited}
      {...tied}
      value={value}
      onInput={give}
    />
  );
}

/** Whether a text of this name mostly has many lines. */
export function isLong(name: string, { maxLength = 0 }: JsonSchema): boolean {
  return maxLength > ONE_LINE || (MANY_LINES.test(name) && (maxLength === 0 || maxLength > 200));
}

type ControlProps = Pick<PartProps, 'value' | 'onChange' | 'inherited'> & { readonly tied: Tied };

function Choice({ schema, value, onChange, tied, inherited }: ControlProps & { readonly schema: JsonSchema }) {
  const { enum: options = [], 'x-words': words = {} } = schema;
  return (
    <Select
      {...tied}
      value={value === undefined || value === null ? '' : String(value)}
      none={tied.required && value !== undefined ? undefined : tied.required ? text.choose : (inherited ?? text.none)}
      options={optionsOf(options, (option) => words[option] ?? wordOf(option))}
      onPick={(picked) => onChange(options.find((option) => String(option) === picked))}
    />
  );
}

function NumberInput({ schema, value, onChange, tied, inherited }: ControlProps & { readonly schema: JsonSchema }) {
  return (
    <input
      class="input short"
      type="number"
      placeholder={inherited}
      step={schema.type === 'integer' ? 1 : 'any'}
      min={schema.minimum}
      max={schema.maximum}
      {...tied}
      value={typeof value === 'number' ? value : ''}
      onInput={({ currentTarget }) => onChange(currentTarget.value === '' ? undefined : currentTarget.valueAsNumber)}
    />
  );
}

/** Shown in the time of the person, sent as the moment that it is. */
function Moment({ value, onChange, tied }: ControlProps & { readonly value: string }) {
  const shown = value === '' ? '' : local(new Date(value));
  return (
    <input
      class="input short"
      type="datetime-local"
      {...tied}
      value={shown}
      onChange={({ currentTarget }) =>
        onChange(currentTarget.value === '' ? undefined : new Date(currentTarget.value).toISOString())
      }
    />
  );
}

function local(date: Date): string {
  const shifted = new Date(date.getTime() - date.getTimezoneOffset() * 60_000);
  return Number.isNaN(shifted.getTime()) ? '' : shifted.toISOString().slice(0, 16);
}

function Check(props: PartProps) {
  const { value, schema, onChange, path } = props;
  const issue = issueAt(props);
  const hint = hintOf(schema);
  return (
    <div class={issue ? 'field wrong' : 'field'}>
      <label class="check">
        <input
          type="checkbox"
          checked={(value ?? schema.default) === true}
          aria-describedby={hint ? `${path}-hint` : undefined}
          onChange={({ currentTarget }) => onChange(currentTarget.checked)}
        />
        <span>{titleOf(props)}</span>
      </label>
      {hint && (
        <p class="hint" id={`${path}-hint`}>
          {hint}
        </p>
      )}
      <IssueText issue={issue} />
    </div>
  );
}

interface SuggestedProps {
  readonly value: string;
  readonly onChange: (value: string | undefined) => void;
  readonly tied: Tied;
  readonly inherited?: string | undefined;
  readonly options: readonly { readonly value: string; readonly label?: string | undefined }[];
}

/** A text that is typed, for which the usual ones are suggested. */
function Suggested({ value, onChange, tied, inherited, options }: SuggestedProps) {
  return (
    <>
      <input
        class="input"
        autocomplete="off"
        list={`${tied.id}-list`}
        placeholder={inherited}
        {...tied}
        value={value}
        onInput={({ currentTarget }) => onChange(currentTarget.value || undefined)}
      />
      <datalist id={`${tied.id}-list`}>
        {options.map((option) => (
          <option key={option.value} {...option} />
        ))}
      </datalist>
    </>
  );
}
