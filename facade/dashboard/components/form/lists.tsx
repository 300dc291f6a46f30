import type { ComponentChildren } from 'preact';
import { wordOf } from '../../format.ts';
import { useRecords } from '../../records.ts';
import { discriminator, type JsonSchema, onlyValue, withoutNull } from '../../schema.ts';
import { text } from '../../text.ts';
import { Button } from '../button.tsx';
import { RecordButton } from '../record-button.tsx';
import { RecordName } from '../value.tsx';
import { isLong, refOf } from './control.tsx';
import { Field } from './field.tsx';
import { Frame, MemberParts, type NestedProps } from './groups.tsx';
import { MakeRecord } from './make-record.tsx';
import { optionsOf, Select } from './select.tsx';
import { hintOf, initial, type Members, nestedIssue, type PartProps, titleOf } from './state.ts';

/** A list: of choices, of records that are picked, of texts one a line, or of anything else one below the other. */
export function List(props: NestedProps) {
  const { schema, name } = props;
  const items = schema.items ?? {};
  if (items.enum)
    return <Choices {...props} options={items.enum.map((value) => ({ value, label: wordOf(String(value)) }))} />;
  if (items.type !== 'string') return <Items {...props} />;
  const kind = refOf(name, items.description || items['x-ref'] ? items : schema);
  return kind ? <Picked {...props} kind={kind} /> : <Lines {...props} />;
}

/** Short texts, one a line. */
function Lines(props: PartProps) {
  const { value, onChange, needed, schema } = props;
  const lines = Array.isArray(value) ? value.map(String) : [];
  return (
    <Field
      label={titleOf(props)}
      hint={[hintOf(schema), 'One per line.'].filter(Boolean).join(' ')}
      needed={needed}
      issue={nestedIssue(props)}
    >
      {(tied) => (
        <textarea
          class="input"
          {...tied}
          rows={Math.min(10, Math.max(2, lines.length + 1))}
          value={lines.join('\n')}
          onInput={({ currentTarget }) => {
            const given = currentTarget.value;
            onChange(given === '' ? undefined : given.split('\n'));
          }}
          onBlur={() =>
            onChange(lines.length > 0 ? lines.map((line) => line.trim()).filter((line) => line !== '') : undefined)
          }
        />
      )}
    </Field>
  );
}

/** The word that may stand in place of a list of texts, such as `all`. */
export function wordBeside({ anyOf = [] }: JsonSchema): string | undefined {
  const isTexts = ({ type, items }: JsonSchema) => type === 'array' && items?.type === 'string';
  const [word] = anyOf.map(onlyValue).filter((only) => only !== undefined);
  return anyOf.length === 2 && anyOf.some(isTexts) ? word : undefined;
}

/** Short texts, one a line, or the word alone. */
export function LinesOrWord({ word, ...props }: PartProps & { readonly word: string }) {
  const { schema, value, onChange } = props;
  const description = [schema.description, `Or ${word}.`].filter(Boolean).join(' ');
  const take = (lines: unknown) => onChange(Array.isArray(lines) && lines.join() === word ? word : lines);
  return (
    <Lines {...props} schema={{ ...schema, description }} value={value === word ? [word] : value} onChange={take} />
  );
}

function Picked(props: PartProps & { readonly kind: string }) {
  const records = useRecords(props.kind);
  if (!records) return <Lines {...props} />;
  const { kind, value, onChange } = props;
  const picked: readonly unknown[] = Array.isArray(value) ? value : [];
  const add = (id: string) => id !== '' && !picked.includes(id) && onChange([...picked, id]);
  const make = (typed = '', close = () => {}) => <MakeRecord kind={kind} typed={typed} onBegin={close} onMade={add} />;
  if (!records.more) {
    return (
      <Choices {...props} options={records.options}>
        {make()}
      </Choices>
    );
  }
  return (
    <Choices {...props} options={[]}>
      <RecordButton
        kinds={{ [kind]: titleOf(props) }}
        value=""
        onPick={add}
        make={make}
        button={{ class: 'filter-choice' }}
      >
        {text.add}
      </RecordButton>
    </Choices>
  );
}

interface ChoicesProps extends PartProps {
  readonly options: readonly { readonly value: string | number; readonly label: string }[];
  /** Below them: what adds others. */
  readonly children?: ComponentChildren;
}

/** The options, and whatever else is picked. */
function Choices(props: ChoicesProps) {
  const { value, onChange, options, children } = props;
  const picked: readonly unknown[] = Array.isArray(value) ? value : [];
  const unknown = picked.filter((one) => !options.some((option) => option.value === one));
  const shown = [...options, ...unknown.map((one) => ({ value: String(one), label: <RecordName id={String(one)} /> }))];
  return (
    <Frame {...props}>
      {shown.length === 0 && <p class="hint">{text.none}</p>}
      <div class="choices">
        {shown.map((option) => (
          <label key={option.value} class="check">
            <input
              type="checkbox"
              checked={picked.includes(option.value)}
              onChange={({ currentTarget }) =>
                onChange(
                  currentTarget.checked ? [...picked, option.value] : picked.filter((one) => one !== option.value),
                )
              }
            />
            <span>{option.label}</span>
          </label>
        ))}
      </div>
      {children}
    </Frame>
  );
}

function Items(props: NestedProps) {
  const { value, onChange, schema, path, issues, part: Any, name } = props;
  const list: readonly unknown[] = Array.isArray(value) ? value : [];
  const items = schema.items ?? {};
  const one = titleOf({ name, schema: {} }).replace(/s$/, '');
  const give = (next: readonly unknown[]) => onChange(next.length > 0 || props.needed ? next : undefined);
  return (
    <Frame {...props}>
      {list.map((item, index) => (
        <div class={isShort(items) ? 'item short' : 'item'} key={index}>
          <Any
            name={name}
            path={`${path}[${index}]`}
            schema={{ ...items, title: `${one} ${index + 1}` }}
            needed
            value={item}
            issues={issues}
            onChange={(given) => give(list.map((other, at) => (at === index ? given : other)))}
          />
          <Button
            look="quiet"
            icon="close"
            label={`${text.remove} ${index + 1}`}
            onClick={() => give(list.filter((_, at) => at !== index))}
          />
        </div>
      ))}
      <Button text={text.add} icon="plus" onClick={() => give([...list, initial(items) ?? {}])} />
    </Frame>
  );
}

const MOST_IN_A_ROW = 4;

/** Whether all members of an item fit into one row: few, and each a short value. */
function isShort({ properties }: JsonSchema): boolean {
  const members = Object.entries(properties ?? {}).map(([name, member]) => ({ name, ...withoutNull(member).schema }));
  const isPlain = ({ name, type, enum: options, maxLength = 0 }: JsonSchema & { readonly name: string }) =>
    options !== undefined ||
    /^(integer|number|boolean)$/.test(String(type)) ||
    (type === 'string' && !isLong(name, { maxLength }));
  return members.length > 0 && members.length <= MOST_IN_A_ROW && members.every(isPlain);
}

/** One of several objects, told apart by a member such as `kind`. */
export function Union(props: NestedProps) {
  const { schema, value, onChange, needed, path, issues, part } = props;
  const options = schema.anyOf ?? [];
  const by = discriminator(options) ?? '';
  const members = (value ?? {}) as Members; // an object, or nothing yet
  const picked = options.find((option) => by !== '' && onlyValue(option.properties?.[by]) === members[by]);
  return (
    <Frame {...props}>
      <Select
        aria-label={titleOf(props)}
        value={picked ? String(members[by]) : ''}
        none={needed ? text.choose : text.none}
        options={optionsOf(options.map((option) => onlyValue(option.properties?.[by]) ?? ''))}
        onPick={(value) => {
          const next = options.find((option) => onlyValue(option.properties?.[by]) === value);
          onChange(next ? initial(next) : undefined);
        }}
      />
      {picked && (
        <MemberParts
          schema={picked}
          path={path}
          value={members}
          issues={issues}
          onChange={onChange}
          part={part}
          hidden={[by]}
        />
      )}
    </Frame>
  );
}
