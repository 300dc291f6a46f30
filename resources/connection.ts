import { z } from 'zod';
import { bookkeeping, namesUser, nameText, recordId, timestamp } from './fields.ts';
import { SECRET_MASK } from './integration.ts';
import { address, secret } from './markers.ts';

const KEPT = `shown as ${SECRET_MASK}; a value written as ${SECRET_MASK} keeps the stored one.`;

const secretText = secret(
  z
    .string()
    .min(1)
    .max(8000)
    .regex(
      new RegExp(`^(?:[\\x21-\\x7e\\x80-\\xff](?:[\\x20-\\x7e\\x80-\\xff]*[\\x21-\\x7e\\x80-\\xff])?|${SECRET_MASK})$`),
      'May hold nothing but printable characters of Latin-1; leave out the others.',
    )
    .describe(`Secret: ${KEPT}`),
);

/** A URL that is shown to those who manage connections: nothing in it is secret. */
function plainUrl(what: string) {
  return address(
    z
      .url({ protocol: /^https?$/, error: 'Write an http or https URL.' })
      .max(2000)
      .refine((url) => !namesUser(url), 'May hold no user and password; give them in auth.')
      .refine((url) => !/[?#\\]/.test(url), 'May hold no query, fragment or backslash; leave them out.')
      .describe(what),
  );
}

export const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/;
const OWN_HEADERS =
  /^(?:accept-encoding|connection|content-(?:encoding|length)|cookie|expect|host|keep-alive|te|trailer|transfer-encoding|upgrade|proxy-.*)$/i;

export const connectionKind = z.enum(['http', 'slack', 'webhook']);
export type ConnectionKind = z.infer<typeof connectionKind>;

const words = (longest: number) =>
  z
    .string()
    .min(1)
    .max(longest)
    .regex(/^[\x20-\x7e]+$/, 'Write printable ASCII.');

/** The ways to say who asks, with their secrets in the given form. */
function authWith<Secret extends z.ZodType>(held: Secret) {
  return [
    z.strictObject({ type: z.literal('none') }),
    z.strictObject({ type: z.literal('bearer'), token: held }),
    z.strictObject({
      type: z.literal('basic'),
      user: words(300).regex(/^[^:]*$/, 'May hold no colon.'),
      password: held,
    }),
    z.strictObject({
      type: z.literal('header'),
      name: z
        .string()
        .regex(HEADER_NAME, 'Write the name of a header: letters, digits and marks such as -.')
        .refine((name) => !OWN_HEADERS.test(name), 'The protocol sets this header itself; choose another.'),
      value: held,
    }),
    z.strictObject({
      type: z.literal('oauth-client-credentials'),
      tokenUrl: plainUrl('Endpoint that gives tokens. It gets id and secret.'),
      clientId: words(2000),
      clientSecret: held,
      scopes: z
        .array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,200}$/, 'Write a scope without spaces and quotes.'))
        .max(50)
        .optional(),
    }),
  ] as const;
}

const authInput = z.discriminatedUnion('type', authWith(secretText));
const authStored = z.discriminatedUnion('type', authWith(z.string()));
export type ConnectionAuth = z.infer<typeof authStored>;

export const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
export const connectionMethod = z.enum(METHODS);

const pathGlob = z
  .string()
  .max(300)
  .regex(
    /^\/(?:(?!\.{1,2}(?:\/|$))(?!\*\*\/)[A-Za-z0-9._~!$&'()*+,:@=-]+(?:\/(?=.)|$))*$/,
    'Write a path like /repos/*/issues: * is any text of one part, ** as the last part any parts.',
  );

export const connectionFields = {
  name: z
    .string()
    .max(60)
    .regex(/^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/, 'Write lower-case letters and digits, with single - between.')
    .describe('Unique, and for good: grants and calls name the connection by it. Like `team-slack`.'),
  displayName: nameText(120),
  kind: connectionKind.describe(
    '`http`: any API, for send_http_request. `slack`: an incoming webhook of Slack or what takes its form, `webhook`: a signed POST (Standard Webhooks), both for send_message.',
  ),
  baseUrl: plainUrl('Where paths begin (http), or where messages go (webhook). Not for slack.'),
  webhookUrl: secret(
    z
      .string()
      .max(2000)
      .refine(
        (url) =>
          url === SECRET_MASK || (URL.canParse(url) && /^https?:/i.test(url) && !namesUser(url) && !/[\s\\]/.test(url)),
        'Write the http or https URL of the incoming webhook.',
      )
      .describe(`URL of the incoming webhook (slack). Secret: ${KEPT}`),
  ),
  signingSecret: secret(
    z
      .string()
      .regex(
        new RegExp(`^(?:(?:whsec_)?[A-Za-z0-9+/]{32,88}={0,2}|${SECRET_MASK})$`),
        'Write whsec_ and 24 to 64 bytes in base64, as `openssl rand -base64 32` makes them.',
      )
      .describe(`Signs what is sent (webhook): whsec_ and 24 to 64 bytes in base64. Secret: ${KEPT}`),
  ),
  auth: authInput.describe('How the other server knows who asks (http). Default: none.'),
  methods: z
    .array(connectionMethod)
    .min(1)
    .max(METHODS.length)
    .describe('Allowed methods (http). Default: GET and POST.'),
  paths: z
    .array(pathGlob)
    .min(1)
    .max(100)
    .describe(
      'Allowed paths below baseUrl (http): * is any text of one part, ** as the last part any parts. Default: all.',
    ),
  rate: z
    .strictObject({ perMinute: z.int().min(1).max(6000) })
    .describe('Most requests a minute, of all callers together.'),
  askFirst: z
    .boolean()
    .describe(
      'Calls by agents, capsules, apps, keys and flows wait for the yes of a person. Only who has full access may set false.',
    ),
  enabled: z.boolean(),
};

export const ALL_PATHS = '/**';

const failure = z.object({ at: timestamp, message: z.string() });

/** The stored record. Its secrets are encrypted. */
export const connectionRecord = z.object({
  id: recordId,
  name: connectionFields.name,
  displayName: connectionFields.displayName.optional(),
  kind: connectionKind,
  /** Of `slack` the origin of the webhook, whose URL is a secret. */
  baseUrl: z.string(),
  webhookUrl: z.string().optional(),
  signingSecret: z.string().optional(),
  auth: authStored,
  methods: z.array(connectionMethod),
  paths: z.array(z.string()),
  rate: connectionFields.rate.optional(),
  askFirst: z.boolean(),
  enabled: z.boolean(),
  lastUsedAt: timestamp.optional(),
  lastFailure: failure.optional(),
  createdBy: recordId,
  ...bookkeeping,
});
export type ConnectionRecord = z.infer<typeof connectionRecord>;

const masked = z.literal(SECRET_MASK);

/** A way out of this server: to an HTTP API, or for messages. */
export const connection = connectionRecord.extend({
  webhookUrl: masked.optional(),
  signingSecret: masked.optional(),
  auth: z.discriminatedUnion('type', authWith(masked)),
  lastUsedAt: timestamp.optional().describe('To the minute.'),
  lastFailure: failure.optional().describe('Of the last request that failed, until one works.'),
});
export type Connection = z.infer<typeof connection>;
