import { Field } from '../../components/form/field.tsx';
import { issueAt, type PartProps } from '../../components/form/state.ts';
import { counted } from '../../format.ts';
import type { Row } from '../../kind/spec.ts';

const LEVELS = [
  { scope: 'read', label: 'Read', hint: 'Sees what you see; changes nothing.' },
  {
    scope: 'write',
    label: 'Read and write',
    hint: 'Also makes, changes and deletes records, and runs agents and flows.',
  },
  {
    scope: 'admin',
    label: 'Everything',
    hint: 'Also people, keys, capsules, integrations, settings and the audit log.',
  },
] as const;

/** What a key may do: one of three levels, or scopes in words of their own. */
export function ScopesControl(props: PartProps) {
  const scopes = Array.isArray(props.value) ? props.value.map(String) : [];
  const level = LEVELS.find(({ scope }) => scopes.length === 1 && scopes[0] === scope)?.scope;
  const issue = issueAt(props) ?? props.issues.find(({ path }) => path.startsWith(`${props.path}[`))?.message;
  return (
    <fieldset class="frame">
      <legend>Rights</legend>
      {LEVELS.map(({ scope, label, hint }) => (
        <label key={scope} class="choice-row">
          <input type="radio" name="level" checked={level === scope} onChange={() => props.onChange([scope])} />
          <span>
            <span class="label">{label}</span>
            <span class="hint">{hint}</span>
          </span>
        </label>
      ))}
      <label class="choice-row">
        <input
          type="radio"
          name="level"
          checked={level === undefined}
          onChange={() => props.onChange(['agents:read'])}
        />
        <span>
          <span class="label">Scopes of my own</span>
          <span class="hint">Such as agents:read and flows:write, separated by spaces.</span>
        </span>
      </label>
      {(level === undefined || issue !== undefined) && (
        <Field label="Scopes" issue={issue}>
          {(tied) => (
            <input
              class="input"
              {...tied}
              value={scopes.join(' ')}
              onInput={({ currentTarget }) => props.onChange(currentTarget.value.split(/[\s,]+/))}
              onBlur={() => props.onChange(scopes.filter((scope) => scope !== ''))}
            />
          )}
        </Field>
      )}
    </fieldset>
  );
}

/** The rights of a key in few words. */
export function rightsOf({ scopes, grants }: Row): string {
  if (Array.isArray(grants)) return counted(grants.length, 'grant');
  const held = Array.isArray(scopes) ? scopes.map(String) : [];
  // Each level includes the ones before it.
  const level = LEVELS.findLast(({ scope }) => held.includes(scope));
  const isPlain = held.every((scope) => LEVELS.some((other) => other.scope === scope));
  return isPlain && level ? level.label : held.join(', ');
}
