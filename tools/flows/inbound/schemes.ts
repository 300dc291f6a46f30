import { isUtf8 } from 'node:buffer';
import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import type { WebhookScheme } from '../../../resources/flow.ts';
import { ToolError } from '../../core/errors.ts';

/** A header of the request. Undefined if it is missing, and where it was given more than once. */
export type HeaderOf = (name: string) => string | undefined;

interface Signed {
  /** What is signed, in parts: the raw body is one of them. */
  readonly parts: readonly (string | Buffer)[];
  readonly encoding: 'hex' | 'base64';
  /** While a sender changes its secret, there are several. */
  readonly signatures: readonly string[];
  /** The signed time in seconds, as the request writes it. */
  readonly at?: string;
}

/** Finds the parts of the signature. Undefined if the request has none of this scheme. */
type Reader = (header: HeaderOf, body: Buffer) => Signed | undefined;

const TIME = /^[1-9]\d{0,11}$/;
const MOST_SIGNATURES = 10;

const readers: Readonly<Record<WebhookScheme, Reader>> = {
  github(header, body) {
    const [, signature] = /^sha256=(\w+)$/.exec(header('x-hub-signature-256') ?? '') ?? [];
    return signature === undefined ? undefined : { parts: [body], encoding: 'hex', signatures: [signature] };
  },

  stripe(header, body) {
    const items = (header('stripe-signature') ?? '').split(',').map((item) => item.trim());
    const valuesOf = (name: string) => items.flatMap((item) => (item.startsWith(name) ? item.slice(name.length) : []));
    const [at, ...others] = valuesOf('t=');
    if (at === undefined || others.length > 0) return undefined;
    return { parts: [`${at}.`, body], encoding: 'hex', signatures: valuesOf('v1='), at };
  },

  slack(header, body) {
    const at = header('x-slack-request-timestamp');
    const [, signature] = /^v0=(\w+)$/.exec(header('x-slack-signature') ?? '') ?? [];
    if (at === undefined || signature === undefined) return undefined;
    return { parts: [`v0:${at}:`, body], encoding: 'hex', signatures: [signature], at };
  },

  standard(header, body) {
    const [id, at, given] = ['id', 'timestamp', 'signature'].map((name) => standardHeader(header, name));
    if (!id || at === undefined || given === undefined) return undefined;
    const signatures = given.split(' ').flatMap((item) => (item.startsWith('v1,') ? item.slice(3) : []));
    return { parts: [`${id}.${at}.`, body], encoding: 'base64', signatures, at };
  },

  hmac(header, body) {
    const at = header('x-webhook-timestamp');
    const [, signature] = /^(?:sha256=)?(\w+)$/.exec(header('x-webhook-signature') ?? '') ?? [];
    if (at === undefined || signature === undefined) return undefined;
    return { parts: [`${at}.`, body], encoding: 'hex', signatures: [signature], at };
  },
};

/** Many senders use the names that these headers had before there was a standard. */
function standardHeader(header: HeaderOf, name: string): string | undefined {
  return header(`webhook-${name}`) ?? header(`svix-${name}`);
}

interface SignatureHeader {
  readonly name: string;
  readonly scheme: WebhookScheme;
}

/** The headers by which a request shows that it is signed. */
export const SIGNATURE_HEADERS: readonly SignatureHeader[] = [
  { name: 'x-hub-signature-256', scheme: 'github' },
  { name: 'stripe-signature', scheme: 'stripe' },
  { name: 'x-slack-signature', scheme: 'slack' },
  { name: 'webhook-signature', scheme: 'standard' },
  { name: 'svix-signature', scheme: 'standard' },
  { name: 'x-webhook-signature', scheme: 'hmac' },
];

export const TOLERANCE_MS = 5 * 60_000;

export interface Verdict {
  readonly result: 'good' | 'bad_signature' | 'late';
  /** The signature as it should be. It tells deliveries apart. */
  readonly digest: string;
}

/** Whether the request was signed with the key, and lately. All signatures are compared in constant time. */
export function verify(
  { header, body }: { readonly header: HeaderOf; readonly body: Buffer },
  { scheme, key }: { readonly scheme: WebhookScheme; readonly key: Buffer },
  now: Date,
): Verdict {
  const signed = readers[scheme](header, body);
  const hmac = createHmac('sha256', key);
  for (const part of signed?.parts ?? [body]) hmac.update(part);
  const expected = hmac.digest();
  const { signatures = [], encoding = 'hex', at } = signed ?? {};
  const wanted = Buffer.from(expected.toString(encoding));
  const given = signatures.slice(0, MOST_SIGNATURES).map((text) => Buffer.from(text));
  const fits = given.filter((bytes) => bytes.length === wanted.length && timingSafeEqual(bytes, wanted));
  const digest = expected.toString('hex');
  if (fits.length === 0) return { result: 'bad_signature', digest };
  return { result: at === undefined || isTimely(at, now) ? 'good' : 'late', digest };
}

function isTimely(at: string, now: Date): boolean {
  return TIME.test(at) && Math.abs(now.getTime() - Number(at) * 1000) <= TOLERANCE_MS;
}

interface Delivered {
  readonly scheme: WebhookScheme;
  readonly header: HeaderOf;
  readonly body: Buffer;
}

/** These senders also send forms. */
const SENDS_FORMS: readonly WebhookScheme[] = ['github', 'slack'];

/** The JSON that was sent; of a form its fields, or the JSON in its `payload`. @throws ToolError (invalid_input, unsupported_media_type) */
export function contentOf({ scheme, header, body }: Delivered): unknown {
  const [type = ''] = (header('content-type') ?? '').toLowerCase().split(';');
  const isForm = type.trim() === 'application/x-www-form-urlencoded';
  if (!isUtf8(body)) throw new ToolError('invalid_input', 'The body is not UTF-8; send it in UTF-8.');
  const text = body.toString('utf8');
  if (isForm && SENDS_FORMS.includes(scheme)) {
    const fields = Object.fromEntries(new URLSearchParams(text));
    return fields.payload === undefined ? fields : parsed(fields.payload);
  }
  if (/^application\/(?:[\w.-]+\+)?json$/.test(type.trim())) return parsed(text);
  throw new ToolError('unsupported_media_type', 'Send JSON, with Content-Type: application/json.');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ToolError('invalid_input', 'The body is not valid JSON; send JSON.');
  }
}

function textAt(content: unknown, ...path: readonly string[]): string | undefined {
  let value = content;
  for (const name of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[name]; // it has the member
  }
  return typeof value === 'string' && value !== '' ? value : undefined;
}

const LONGEST_EVENT = 100;

/** What the delivery is about. GitHub says it in a header, which it does not sign. */
export function eventOf({ scheme, header }: Delivered, content: unknown): string | undefined {
  const event =
    scheme === 'github'
      ? header('x-github-event')
      : (scheme === 'slack' && (textAt(content, 'event', 'type') ?? textAt(content, 'command'))) ||
        textAt(content, 'type');
  const plain = event?.replace(/[\p{Cc}\u2028-\u202e\u2066-\u2069]/gu, '');
  return plain ? plain.slice(0, LONGEST_EVENT).toWellFormed() : undefined;
}

/** The text to send back where Slack tries the address. */
export function challengeIn(scheme: WebhookScheme, content: unknown): string | undefined {
  return scheme === 'slack' && textAt(content, 'type') === 'url_verification'
    ? textAt(content, 'challenge')
    : undefined;
}

/** Whether GitHub tries the address. The header alone is not signed, so the body must be that of a ping too. */
export function isPing({ scheme, header }: Delivered, content: unknown): boolean {
  return scheme === 'github' && header('x-github-event') === 'ping' && textAt(content, 'zen') !== undefined;
}

/** Equal for repeats of one delivery: its number where the sender gives one, because a repeat may be signed anew; else its signature. */
export function keyOfDelivery(
  flowId: string,
  { scheme, header }: Pick<Delivered, 'scheme' | 'header'>,
  { content, digest }: { readonly content: unknown; readonly digest: string },
): string {
  const number = {
    github: undefined,
    stripe: textAt(content, 'id'),
    slack: textAt(content, 'event_id'),
    standard: standardHeader(header, 'id'),
    hmac: undefined,
  }[scheme];
  const own = number === undefined ? ['signature', digest] : ['number', number];
  return hash('sha256', JSON.stringify([flowId, scheme, ...own]), 'base64url');
}
