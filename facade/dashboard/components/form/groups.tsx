import type { ComponentType } from 'preact';
import { text } from '../../text.ts';
import { Button } from '../button.tsx';
import { IssueText } from './field.tsx';
import { hintOf, initial, issueAt, type Members, memberPath, type PartProps, titleOf } from './state.ts';

export interface NestedProps extends PartProps {
  /** Draws what is inside, of any schema. */
  readonly part: ComponentType<PartProps>;
}

/** An object: its members in a frame. One that need not be there is shown after it was asked for. */
export function Group(props: NestedProps) {
  const { schema, value, needed, onChange, part } = props;
  const title = titleOf(props);
  const isSet = needed || (typeof value === 'object' && value !== null);
  if (!isSet) {
    return (
      <div class="field">
        <Button
          text={schema['x-add'] ?? `Set ${inSentence(title)}`}
          icon="plus"
          onClick={() => onChange(initial(schema) ?? {})}
        />
        {hintOf(schema) && <p class="hint">{hintOf(schema)}</p>}
      </div>
    );
  }
  return (
    <Frame {...props} onRemove={needed ? undefined : () => onChange(undefined)}>
      <MemberParts {...props} value={(value ?? {}) as Members /* objects only, see above */} part={part} />
    </Frame>
  );
}

/** As it stands within a sentence: words that are written in capitals keep them. */
function inSentence(title: string): string {
  return /^[A-Z]{2}/.test(title) ? title : title.charAt(0).toLowerCase() + title.slice(1);
}

/** A frame with a title around several parts. */
export function Frame(
  props: PartProps & {
    /** What is wrong. Default: what the server found wrong with this part. */
    readonly issue?: string | undefined;
    readonly onRemove?: (() => void) | undefined;
    readonly children: preact.ComponentChildren;
  },
) {
  const { schema, onRemove, children, issue = issueAt(props) } = props;
  const title = titleOf(props);
  return (
    <fieldset class={issue ? 'frame wrong' : 'frame'}>
      <legend>{title}</legend>
      {onRemove && (
        <span class="frame-remove">
          <Button look="quiet" icon="close" label={`${text.unset}: ${title.toLowerCase()}`} onClick={onRemove} />
        </span>
      )}
      {hintOf(schema) && <p class="hint">{hintOf(schema)}</p>}
      {children}
      <IssueText issue={issue} />
    </fieldset>
  );
}

interface MemberPartsProps extends Pick<NestedProps, 'schema' | 'path' | 'issues' | 'part'> {
  readonly value: Members;
  readonly onChange: (value: Members) => void;
  /** Members that are not asked for here. */
  readonly hidden?: readonly string[];
  /** Controls of one's own, by member. */
  readonly own?: Readonly<Record<string, ComponentType<PartProps>>> | undefined;
  /** What holds where a member is left out, by member. */
  readonly defaults?: Readonly<Record<string, string>> | undefined;
}

/** The parts for the members of an object, one below the other. */
export function MemberParts({
  schema,
  path,
  value,
  issues,
  onChange,
  part: Any,
  hidden = [],
  own = {},
  defaults = {},
}: MemberPartsProps) {
  const needed = new Set(schema.required ?? []);
  return (
    <>
      {Object.entries(schema.properties ?? {}).map(([name, member]) => {
        if (hidden.includes(name)) return null;
        const One = own[name] ?? Any;
        return (
          <One
            key={name}
            name={name}
            path={memberPath(path, name)}
            schema={member}
            needed={needed.has(name)}
            value={value[name]}
            issues={issues}
            {...(own[name] && { beside: value, onBeside: (given: Members) => onChange({ ...value, ...given }) })}
            inherited={defaults[name]}
            onChange={(given) => onChange({ ...value, [name]: given })}
          />
        );
      })}
    </>
  );
}

/** A record whose names are chosen freely. */
export function Pairs(props: NestedProps) {
  const { schema, value, onChange, issues, path, part: Any } = props;
  const pairs = Object.entries((value ?? {}) as Members); // a record, or nothing yet
  const values = typeof schema.additionalProperties === 'object' ? schema.additionalProperties : {};
  const give = (next: readonly (readonly [string, unknown])[]) =>
    onChange(next.length > 0 ? Object.fromEntries(next) : undefined);
  return (
    <Frame {...props}>
      {pairs.map(([name, member], index) => (
        <div class="pair" key={index}>
          <label class="field">
            <span class="label">Name</span>
            <input
              class="input"
              value={name}
              onChange={({ currentTarget }) =>
                give(pairs.map((pair, at) => (at === index ? [currentTarget.value, pair[1]] : pair)))
              }
            />
          </label>
          <Any
            name="value"
            path={memberPath(path, name)}
            schema={{ ...values, title: 'Value' }}
            needed={false}
            value={member}
            issues={issues}
            onChange={(given) => give(pairs.map((pair, at) => (at === index ? [pair[0], given] : pair)))}
          />
          <Button
            look="quiet"
            icon="close"
            label={`${text.remove} ${name}`}
            onClick={() => give(pairs.filter((_, at) => at !== index))}
          />
        </div>
      ))}
      <Button
        text={text.add}
        icon="plus"
        onClick={() => give([...pairs, [freeName(pairs.map(([name]) => name)), initial(values) ?? '']])}
      />
    </Frame>
  );
}

function freeName(taken: readonly string[]): string {
  for (let count = 1; ; count += 1) if (!taken.includes(`name${count}`)) return `name${count}`;
}
