import type { ComponentType } from 'preact';
import { ChoiceRow } from '../access-levels.tsx';
import { IssueText } from './field.tsx';
import { issueAt, type PartProps } from './state.ts';

type Alternative = Readonly<{ value: string; label: string; hint: string }>;

/** A choice among alternatives, each with a hint. The form asks only for the members of the chosen one. */
export function alternatives(title: string, options: readonly Alternative[]): ComponentType<PartProps> {
  return (props) => (
    <fieldset class="frame">
      <legend>{title}</legend>
      {options.map(({ value, label, hint }) => (
        <ChoiceRow
          key={value}
          group={props.path}
          label={label}
          hint={hint}
          checked={props.value === value}
          onPick={() => props.onChange(value)}
        />
      ))}
      <IssueText issue={issueAt(props)} />
    </fieldset>
  );
}
