import { useState } from 'preact/hooks';
import { ChoiceRow } from '../../components/access-levels.tsx';
import { IssueText } from '../../components/form/field.tsx';
import { Part } from '../../components/form/part.tsx';
import { issueAt, memberPath, type PartProps } from '../../components/form/state.ts';

const TARGETS = [
  { value: 'url', label: 'Another system', hint: 'A signed request to an address for each event.' },
  { value: 'email', label: 'People, by mail', hint: 'Mails, each about everything since the one before.' },
] as const;

/** One of both: what was typed for the other is not sent. */
export function TargetControl(props: PartProps) {
  const { schema, value, onChange, path } = props;
  const members = (value ?? {}) as Readonly<Record<string, unknown>>; // of the schema of a target
  const [picked, setPicked] = useState<'url' | 'email'>('email' in members ? 'email' : 'url');
  const pick = (next: 'url' | 'email') => {
    setPicked(next);
    onChange({ [next]: undefined });
  };
  return (
    <fieldset class="frame">
      <legend>Notify</legend>
      {TARGETS.map(({ value: way, ...words }) => (
        <ChoiceRow key={way} group="target" {...words} checked={picked === way} onPick={() => pick(way)} />
      ))}
      <Part
        {...props}
        name={picked}
        path={memberPath(path, picked)}
        schema={{
          ...schema.properties?.[picked],
          title: picked === 'url' ? 'Address' : 'Email',
          description: picked === 'url' ? 'Like https://example.com/hooks.' : 'Like ops@example.com.',
        }}
        needed
        value={members[picked]}
        onChange={(given) => onChange({ [picked]: given })}
      />
      <IssueText issue={issueAt(props)} />
    </fieldset>
  );
}
