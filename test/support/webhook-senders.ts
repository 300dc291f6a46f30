import { createHmac } from 'node:crypto';

/** A request as a sender makes it. */
export interface Sent {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface Sender {
  readonly scheme: string;
  readonly secret: string;
  /** A delivery that the sender published, or that is made as its documentation says, with the time in seconds when it was signed. */
  readonly recorded: Sent & { readonly at: number; readonly input?: unknown };
  /** Signs as the sender does, at this time in seconds. `id` numbers the delivery, where the sender does so in a header. */
  sign(body: string, at: number, id?: string): Sent;
}

const JSON_TYPE = { 'content-type': 'application/json' };
const FORM_TYPE = { 'content-type': 'application/x-www-form-urlencoded' };

function hmac(key: string | Buffer, text: string, encoding: 'hex' | 'base64' = 'hex'): string {
  return createHmac('sha256', key).update(text).digest(encoding);
}

const SLACK_COMMAND =
  'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c';
const STANDARD_SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

export const github: Sender = {
  scheme: 'github',
  secret: "It's a Secret to Everybody",
  recorded: {
    at: 1_700_000_000,
    headers: {
      ...JSON_TYPE,
      'x-hub-signature-256': 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
    },
    body: 'Hello, World!',
  },
  sign: (body) => ({
    headers: {
      ...JSON_TYPE,
      'x-github-event': 'push',
      'x-hub-signature-256': `sha256=${hmac(github.secret, body)}`,
    },
    body,
  }),
};

export const stripe: Sender = {
  scheme: 'stripe',
  secret: 'whsec_test_secret',
  recorded: {
    at: 1_492_774_577,
    headers: {
      ...JSON_TYPE,
      'stripe-signature': 't=1492774577,v1=c2f890decbc5ede7c5060bb9a6d31e0626a4342bacb9aeae2adb1bcea72f9812',
    },
    body: '{\n  "id": "evt_test_webhook",\n  "object": "event"\n}',
    input: { id: 'evt_test_webhook', object: 'event' },
  },
  sign: (body, at) => ({
    headers: { ...JSON_TYPE, 'stripe-signature': `t=${at},v1=${hmac(stripe.secret, `${at}.${body}`)}` },
    body,
  }),
};

export const slack: Sender = {
  scheme: 'slack',
  secret: '8f742231b10e8888abcd99yyyzzz85a5',
  recorded: {
    at: 1_531_420_618,
    headers: {
      ...FORM_TYPE,
      'x-slack-request-timestamp': '1531420618',
      'x-slack-signature': 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503',
    },
    body: SLACK_COMMAND,
    input: Object.fromEntries(new URLSearchParams(SLACK_COMMAND)),
  },
  sign: (body, at) => ({
    headers: {
      ...JSON_TYPE,
      'x-slack-request-timestamp': String(at),
      'x-slack-signature': `v0=${hmac(slack.secret, `v0:${at}:${body}`)}`,
    },
    body,
  }),
};

export const standard: Sender = {
  scheme: 'standard',
  secret: STANDARD_SECRET,
  recorded: {
    at: 1_614_265_330,
    headers: {
      ...JSON_TYPE,
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    },
    body: '{"test": 2432232314}',
    input: { test: 2432232314 },
  },
  sign(body, at, id = `msg ${body}`) {
    const key = Buffer.from(STANDARD_SECRET.slice('whsec_'.length), 'base64');
    const signature = `v1,${hmac(key, `${id}.${at}.${body}`, 'base64')}`;
    const signed = { 'webhook-id': id, 'webhook-timestamp': String(at), 'webhook-signature': signature };
    return { headers: { ...JSON_TYPE, ...signed }, body };
  },
};

export const generic: Sender = {
  scheme: 'hmac',
  secret: '0123456789abcdef0123456789abcdef',
  recorded: {
    at: 1_700_000_000,
    headers: {
      ...JSON_TYPE,
      'x-webhook-timestamp': '1700000000',
      'x-webhook-signature': 'sha256=df75a81d4a1d0d831efff0527390fa4e3a82e088b663009abe62519af8a37a58',
    },
    body: '{"n": 3}',
    input: { n: 3 },
  },
  sign: (body, at) => ({
    headers: {
      ...JSON_TYPE,
      'x-webhook-timestamp': String(at),
      'x-webhook-signature': `sha256=${hmac(generic.secret, `${at}.${body}`)}`,
    },
    body,
  }),
};

export const senders: readonly Sender[] = [github, stripe, slack, standard, generic];

/** The trigger of a flow that takes what the sender sends. */
export function triggerFor({ scheme, secret }: Pick<Sender, 'scheme' | 'secret'>) {
  return { kind: 'webhook', signature: { scheme, secret } };
}
