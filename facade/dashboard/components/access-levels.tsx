/** The scopes that most keys have. Each includes the ones before it. */
export const LEVELS = [
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

interface ChoiceRowProps {
  readonly group: string;
  readonly label: string;
  readonly hint: string;
  readonly checked: boolean;
  readonly onPick: () => void;
}

/** One of several choices, with what it means. */
export function ChoiceRow({ group, label, hint, checked, onPick }: ChoiceRowProps) {
  return (
    <label class="choice-row">
      <input type="radio" name={group} checked={checked} onChange={onPick} />
      <span>
        <span class="label">{label}</span>
        <span class="hint">{hint}</span>
      </span>
    </label>
  );
}
