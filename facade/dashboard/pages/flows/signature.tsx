import { useState } from 'preact/hooks';
import { boot } from '../../app.ts';
import { Field } from '../../components/form/field.tsx';
import { Select } from '../../components/form/select.tsx';
import { Button, CopyButton } from '../../ui.ts';

export type Signature = Readonly<{ scheme: string; secret?: string; givenAt?: string }>;

/** `webhook` and others. */
export function kindOf(trigger: unknown): string | undefined {
  return ((trigger ?? {}) as { readonly kind?: string }).kind; // as the schema of a flow says
}

export function signatureIn(trigger: unknown): Signature | undefined {
  return ((trigger ?? {}) as { readonly signature?: Signature }).signature; // as the schema of a flow says
}

interface Scheme {
  readonly value: string;
  /** As a choice, in a sentence, and in "How to connect", where that is called otherwise. */
  readonly label: string;
  readonly who: string;
  readonly connects?: string;
  /** Where the secret comes from. */
  readonly hint: string;
  /** The prefix of a secret that is made here. Undefined: the sender makes it. */
  readonly makes?: string;
  /** How the sender is connected. */
  readonly steps: readonly string[];
}

export const SCHEMES: readonly [Scheme, ...Scheme[]] = [
  {
    value: 'github',
    label: 'GitHub',
    who: 'GitHub',
    hint: 'Any text of 16 characters or more; give GitHub the same.',
    makes: '',
    steps: [
      'In the repository or organisation on GitHub: Settings, Webhooks, Add webhook.',
      'Payload URL: this address. Content type: application/json. Secret: the one given here.',
      'Choose the events. GitHub sends a ping, which is then listed under Deliveries.',
    ],
  },
  {
    value: 'stripe',
    label: 'Stripe',
    who: 'Stripe',
    hint: 'The signing secret of the endpoint: whsec_…',
    steps: [
      'In Stripe: Developers, Webhooks, Add endpoint, with this address.',
      'Choose the events and reveal the signing secret (whsec_…).',
      'Give that secret here.',
    ],
  },
  {
    value: 'slack',
    label: 'Slack',
    who: 'Slack',
    hint: 'The Signing Secret of the app, under Basic Information.',
    steps: [
      'At api.slack.com/apps: the app, Basic Information, Signing Secret. Give it here and save.',
      'Event Subscriptions: switch on and paste this address, which Slack verifies at once.',
      'Choose the events. Slash commands and interactivity take the same address.',
    ],
  },
  {
    value: 'standard',
    label: 'Standard Webhooks',
    who: 'a sender of Standard Webhooks',
    connects: 'the sender',
    hint: 'whsec_ and the key in base64, as the sender shows it.',
    makes: 'whsec_',
    steps: [
      'Give the sender this address as endpoint.',
      'Give its secret (whsec_…) here, or make one here and give it to the sender.',
    ],
  },
  {
    value: 'hmac',
    label: 'Any other (HMAC)',
    who: 'the sender',
    hint: 'Any text of 16 characters or more; give the sender the same.',
    makes: '',
    steps: [
      'The sender posts JSON to this address.',
      'X-Webhook-Timestamp: the time in seconds.',
      'X-Webhook-Signature: sha256= and the HMAC-SHA256 of <timestamp>.<body>, in hex.',
    ],
  },
];

export function schemeNamed(value: string): Scheme {
  return SCHEMES.find((scheme) => scheme.value === value) ?? SCHEMES[0];
}

/** 32 random bytes. */
function newSecret(prefix: string): string {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  return `${prefix}${btoa(String.fromCharCode(...bytes))}`;
}

/** `value` is empty where nobody signs; `nobody` says so, where that may be chosen. */
type SchemeFieldProps = Readonly<{ value: string; nobody?: string; onChange: (value: string) => void }>;

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

export function Address({ id }: { readonly id: string }) {
  const url = `${location.origin}${boot.base}/api/v1/agents/flows/${encodeURIComponent(id)}/trigger`;
  return (
    <div class="secret">
      <code class="mono">{url}</code>
      <CopyButton value={url} label="Copy address" words />
    </div>
  );
}

export function ConnectSteps({ scheme }: { readonly scheme: Scheme }) {
  return (
    <ol class="connect-steps">
      {scheme.steps.map((step) => (
        <li key={step}>{step}</li>
      ))}
    </ol>
  );
}
