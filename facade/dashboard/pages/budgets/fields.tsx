import { TextField } from '../../components/form/field.tsx';
import { hintOf, issueAt, type PartProps } from '../../components/form/state.ts';
import { useCurrency } from '../usage/numbers.ts';

/** The limit in the unit of what is measured. */
export function LimitControl(props: PartProps) {
  const measure = String(props.beside?.measure ?? 'tokens');
  const ofWorkspace = useCurrency(measure === 'cost');
  const currency = props.beside?.currency ?? ofWorkspace;
  return (
    <NumberField
      props={props}
      label={`Limit (${measure === 'cost' ? (currency ?? 'currency of the workspace') : measure})`}
      hint={EXAMPLES[measure]}
      input={{ min: 0, step: measure === 'cost' ? 'any' : 1 }}
      shown={typeof props.value === 'number' ? props.value : ''}
      onType={props.onChange}
    />
  );
}

const EXAMPLES: Readonly<Record<string, string>> = { calls: 'Like 500.', tokens: 'Like 20000.', cost: 'Like 25.' };

/** A part of the limit, which people read and type as a percentage. */
export function WarnControl(props: PartProps) {
  const part = typeof props.value === 'number' ? props.value : undefined;
  return (
    <NumberField
      props={props}
      label="Warn at (%)"
      hint={hintOf(props.schema)}
      input={{ min: 1, max: 100, step: 'any' }}
      shown={part === undefined ? '' : rounded(part * 100)}
      onType={(percentage) => props.onChange(percentage === undefined ? undefined : rounded(percentage) / 100)}
    />
  );
}

/** Without the last digits that come of computing in binary. */
function rounded(value: number): number {
  return Number(value.toFixed(4));
}

interface NumberFieldProps {
  readonly props: PartProps;
  readonly label: string;
  readonly hint: string | undefined;
  readonly input: Readonly<{ min: number; max?: number; step: number | 'any' }>;
  readonly shown: number | '';
  readonly onType: (value: number | undefined) => void;
}

function NumberField({ props, label, hint, input, shown, onType }: NumberFieldProps) {
  return (
    <TextField
      label={label}
      hint={hint}
      needed={props.needed}
      issue={issueAt(props)}
      value={shown}
      onType={(typed) => onType(typed === '' ? undefined : Number(typed))}
      input={{ type: 'number', class: 'input short', placeholder: props.inherited, ...input }}
    />
  );
}
