import { z } from 'zod';
import { bookkeeping, namesUser, nameText, recordId, timestamp } from './fields.ts';
import { SECRET_MASK } from './integration.ts';
import { address, secret } from './markers.ts';

/** A URL that is shown to those who manage connections: nothing in it is secret. */
function plainUrl(what?: string) {
  return address(
    z
      .url({ protocol: /^https?$/, error: 'Write an http or https URL.', abort: true })
      .max(2000)
      .refine((url) => !namesUser(url), { error: 'May hold no user and password; give them in auth.', abort: true })
      .refine((url) => !/[?#\\]/.test(url), 'May hold no query, fragment or backslash; leave them out.')
      .meta(what === undefined ? {} : { description: what }),
  );
}

export const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/;
const OWN_HEADERS =
  /^(?:accept-encoding|connection|content-(?:encoding|length)|cookie|expect|host|keep-alive|te|trailer|transfer-encoding|upgrade|proxy-.*)$/i;

const headerName = z
  .string()
  .max(100)
  .refine(
    (name) => HEADER_NAME.test(name) && !OWN_HEADERS.test(name),
    'Write a header that the protocol does not set.',
  );

const printable = (text: string) =>
  /^(?:[\x21-\x7e\x80-\xff](?:[\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)$/.test(text);

const connectionKind = z.enum(['http', 'slack', 'webhook']);
export type ConnectionKind = z.infer<typeof connectionKind>;

const authType = z.enum(['none', 'bearer', 'basic', 'header', 'oauth-client-credentials', 'signature']);

const authFields = {
  type: authType,
  user: z
    .string()
    .min(1)
    .max(2000)
    .refine(printable, 'Write printable characters without spaces around them.')
    .describe('User or client id.')
    .optional(),
  header: headerName.optional(),
  secret: secret(
    z
      .string()
      .min(1)
      .max(8000)
      .refine(
        (text) => text === SECRET_MASK || printable(text),
        'Write printable characters without spaces around them.',
      )
      .describe('Token, password, value, client secret or whsec_….'),
  ).optional(),
  tokenUrl: plainUrl().optional(),
  scopes: z
    .array(
      z
        .string()
        .max(200)
        .refine((scope) => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope), 'Write a scope without spaces and quotes.'),
    )
    .max(50)
    .optional(),
};

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
export const connectionMethod = z.enum(METHODS);

const PATH_GLOB = /^\/(?:(?!\.{1,2}(?:\/|$))(?!\*\*\/)[A-Za-z0-9._~!$&'()*+,:@=-]+(?:\/(?=.)|$))*$/;

export const connectionFields = {
  name: z
    .string()
    .max(60)
    .refine(
      (name) => /^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/.test(name),
      'Write lower-case letters and digits, with single - between.',
    )
    .describe('Like `team-slack`, for good.'),
  displayName: nameText(120),
  kind: connectionKind.describe('`http` is an API; the others take messages.'),
  baseUrl: plainUrl('Of http and webhook.'),
  webhookUrl: secret(
    z
      .string()
      .max(2000)
      .refine(
        (url) =>
          url === SECRET_MASK ||
          (URL.canParse(url) && /^https?:\/\//i.test(url) && !namesUser(url) && !/[\s\\]/.test(url)),
        'Write the http or https URL of the incoming webhook.',
      ),
  ),
  auth: z.strictObject(authFields),
  methods: z.array(connectionMethod).min(1).max(METHODS.length),
  paths: z
    .array(
      z
        .string()
        .max(300)
        .refine((glob) => PATH_GLOB.test(glob), 'Write a path like /repos/*/issues, with ** only as the last part.'),
    )
    .min(1)
    .max(100)
    .describe('Like /repos/*/issues or /open/**.'),
  rate: z.strictObject({ perMinute: z.int().min(1).max(6000) }),
  askFirst: z.boolean().describe('Calls by anyone but a signed-in person need approval.'),
  enabled: z.boolean(),
};

export const ALL_PATHS = '/**';

const failure = z.object({ at: timestamp, message: z.string() });
const storedAuth = z.object({ ...authFields, secret: z.string().optional() });
export type ConnectionAuth = z.infer<typeof storedAuth>;

/** The stored record. Its secrets are encrypted. */
export const connectionRecord = z.object({
  id: recordId,
  name: connectionFields.name,
  displayName: connectionFields.displayName.optional(),
  kind: connectionKind,
  /** Of `slack` the origin of the webhook, whose URL is a secret. */
  baseUrl: z.string(),
  webhookUrl: z.string().optional(),
  auth: storedAuth,
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
export const connection = connectionRecord.omit({ createdBy: true, webhookUrl: true }).extend({
  auth: storedAuth.extend({ secret: masked.optional() }),
  lastUsedAt: timestamp.optional().describe('To the minute.'),
  lastFailure: failure.optional().describe('Of the last request that failed, until one works.'),
});
export type Connection = z.infer<typeof connection>;
