import { useState } from 'preact/hooks';
import { text, useTool, useTools } from '../../app.ts';
import { IssueText, JsonText } from '../../components/form/field.tsx';
import { Part } from '../../components/form/part.tsx';
import { initial, issueAt, type Members, memberPath, type PartProps, titleOf } from '../../components/form/state.ts';
import { patternTest } from '../../components/tools-picker.tsx';
import type { JsonSchema } from '../../schema.ts';
import { Button, Mono, Segments } from '../../ui.ts';

const VIEWS = [
  { value: 'form', label: 'Form' },
  { value: 'json', label: 'JSON' },
] as const;

/** Arguments that every call of a capsule gets: picked by tool and argument, each with the control that fits, or written as JSON. */
export function Constraints(props: PartProps) {
  const [view, setView] = useState<(typeof VIEWS)[number]['value']>('form');
  return (
    <fieldset class="frame">
      <legend>Constraints</legend>
      <p class="hint">Arguments that are the same in every call. Clients neither see nor give them.</p>
      <Segments label="Constraints as" value={view} options={VIEWS} onChange={setView} />
      {view === 'form' ? (
        <ByTool {...props} />
      ) : (
        <JsonText {...props} schema={{ title: 'Constraints as JSON', description: '{"tool": {"argument": value}}' }} />
      )}
    </fieldset>
  );
}

function ByTool(props: PartProps) {
  const { value, onChange, path, issues } = props;
  const fixed = (value ?? {}) as Readonly<Record<string, Members>>; // by tool, then by argument
  const free = useServed(props.beside ?? {}).filter((name) => fixed[name] === undefined);
  const give = (next: Readonly<Record<string, unknown>>) => onChange(Object.keys(next).length > 0 ? next : undefined);
  return (
    <>
      {Object.entries(fixed).map(([name, given]) => (
        <OfTool
          key={name}
          name={name}
          path={memberPath(path, name)}
          given={given}
          issues={issues}
          onChange={(next) => give({ ...fixed, [name]: next })}
          onRemove={() => give(without(fixed, name))}
        />
      ))}
      <Adding label="Fix arguments of a tool" options={free} onPick={(name) => give({ ...fixed, [name]: {} })} />
      <IssueText issue={issueAt(props)} />
    </>
  );
}

/** The tools that the capsule of the form serves, as far as its lists say, and that take an argument; all of them as long as none is picked. */
function useServed(form: Members): readonly string[] {
  const tools = [...(useTools()?.values() ?? [])].filter(({ inputSchema }) => inputSchema.properties !== undefined);
  const [allowed, denied] = [testOf(form.allowedTools), testOf(form.deniedTools)];
  const served = tools.map(({ name }) => name).filter((name) => !denied?.(name));
  return allowed ? served.filter(allowed) : served;
}

function testOf(entries: unknown): ((name: string) => boolean) | undefined {
  if (!Array.isArray(entries) || entries.length === 0) return undefined;
  const tests = entries.map((entry) => patternTest(String(entry)));
  return (name) => tests.some((test) => test(name));
}

type OfToolProps = Pick<PartProps, 'path' | 'issues' | 'name'> &
  Readonly<{ given: Members; onChange: (given: Members) => void; onRemove: () => void }>;

function OfTool({ name, path, given, issues, onChange, onRemove }: OfToolProps) {
  const tool = useTool(name);
  const members = tool?.inputSchema.properties ?? {};
  const free = Object.keys(members).filter((argument) => !(argument in given));
  const issue = issueAt({ path, issues });
  return (
    <section class="constraint" aria-label={tool?.title ?? name}>
      <header>
        <span>
          <strong>{tool?.title ?? name}</strong> <Mono>{name}</Mono>
        </span>
        <Button look="quiet" icon="close" label={`${text.remove} ${name}`} onClick={onRemove} />
      </header>
      {Object.entries(given).map(([argument, fixed]) => (
        <div class="item" key={argument}>
          <Part
            name={argument}
            path={memberPath(path, argument)}
            schema={members[argument] ?? AWAY}
            needed
            value={fixed}
            issues={issues}
            onChange={(next) => onChange({ ...given, [argument]: next })}
          />
          <Button
            look="quiet"
            icon="close"
            label={`${text.remove} ${argument}`}
            onClick={() => onChange(without(given, argument))}
          />
        </div>
      ))}
      <Adding
        label="Fix an argument"
        options={free}
        words={(argument) => titleOf({ name: argument, schema: members[argument] ?? {} })}
        onPick={(argument) => onChange({ ...given, [argument]: initial(members[argument] ?? {}) })}
      />
      <IssueText issue={issue} />
    </section>
  );
}

function without(members: Members, name: string): Members {
  return Object.fromEntries(Object.entries(members).filter(([other]) => other !== name));
}

/** Where the tool or the argument is away, a value of any kind. */
const AWAY: JsonSchema = { description: 'There is no such argument now.' };

/** `words`: as people read an option. */
type AddingProps = Readonly<{
  label: string;
  options: readonly string[];
  words?: (option: string) => string;
  onPick: (option: string) => void;
}>;

/** Picks one more of what is left. Nothing if nothing is. */
function Adding({ label, options, words = (option) => option, onPick }: AddingProps) {
  if (options.length === 0) return null;
  return (
    <select
      class="input short"
      aria-label={label}
      value=""
      onChange={({ currentTarget }) => {
        const picked = currentTarget.value;
        currentTarget.value = '';
        if (picked !== '') onPick(picked);
      }}
    >
      <option value="">{`${label}…`}</option>
      {options.map((option) => (
        <option key={option} value={option}>
          {words(option)}
        </option>
      ))}
    </select>
  );
}
