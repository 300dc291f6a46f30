/** How deliveries are signed, as the schema of a flow says. */
export type Signature = Readonly<{ scheme: string; secret?: string; givenAt?: string }>;

/** `webhook` and others. */
export function kindOf(trigger: unknown): string | undefined {
  return ((trigger ?? {}) as { readonly kind?: string }).kind; // as the schema of a flow says
}

export function signatureIn(trigger: unknown): Signature | undefined {
  return ((trigger ?? {}) as { readonly signature?: Signature }).signature; // as the schema of a flow says
}

export interface Scheme {
  readonly value: string;
  /** As a choice, and in a sentence. */
  readonly label: string;
  readonly who: string;
  /** Above the steps. */
  readonly connect: string;
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
    connect: 'How to connect GitHub',
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
    connect: 'How to connect Stripe',
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
    connect: 'How to connect Slack',
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
    connect: 'How to connect the sender',
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
    connect: 'How to connect the sender',
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
export function newSecret(prefix: string): string {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  return `${prefix}${btoa(String.fromCharCode(...bytes))}`;
}
