import { useState } from 'preact/hooks';
import { Field } from '../../components/form/field.tsx';
import { Select } from '../../components/form/select.tsx';
import { Button, CopyButton } from '../../ui.ts';
import { newSecret, SCHEMES, type Scheme } from './schemes.ts';

interface SchemeFieldProps {
  /** Empty: nobody signs. */
  readonly value: string;
  /** What it is called that nobody signs, where that may be chosen. */
  readonly nobody?: string;
  readonly onChange: (value: string) => void;
}

/** Who signs what is sent. */
export function SchemeField({ value, nobody, onChange }: SchemeFieldProps) {
  return (
    <Field label="Sender">
      {(tied) => <Select {...tied} value={value} none={nobody} options={SCHEMES} onPick={onChange} />}
    </Field>
  );
}

interface SecretFieldProps {
  readonly scheme: Scheme;
  readonly value: string;
  readonly hint?: string | undefined;
  readonly needed?: boolean;
  readonly issue?: string | undefined;
  readonly onChange: (value: string) => void;
}

/** The secret, typed unseen, or made here and shown to be copied as long as the field is there. */
export function SecretField({ scheme, value, hint = scheme.hint, needed = true, issue, onChange }: SecretFieldProps) {
  const [made, setMade] = useState<string>();
  const isMade = made !== undefined && value === made;
  const make = (prefix: string) => {
    const secret = newSecret(prefix);
    setMade(secret);
    onChange(secret);
  };
  return (
    <>
      <Field label="Secret" needed={needed} hint={isMade ? undefined : hint} issue={issue}>
        {(tied) => (
          <input
            class={isMade ? 'input code-input' : 'input'}
            {...tied}
            type={(isMade ? 'text' : 'password') as 'text' /* Preact has a type for each kind of input */}
            autocomplete="new-password"
            value={value}
            onInput={({ currentTarget }) => onChange(currentTarget.value)}
          />
        )}
      </Field>
      {isMade && <p class="note">Copy it for the sender now. It is not shown again.</p>}
      {scheme.makes !== undefined && (
        <div class="actions">
          <Button text={isMade ? 'Make another' : 'Make one'} onClick={() => make(scheme.makes ?? '')} />
          {isMade && <CopyButton value={value} words />}
        </div>
      )}
    </>
  );
}
