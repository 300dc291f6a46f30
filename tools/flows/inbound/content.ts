import { isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';
import type { WebhookScheme } from '../../../resources/flow.ts';
import { ToolError } from '../../core/errors.ts';
import { type HeaderOf, standardHeader } from './schemes.ts';

interface Delivered {
  readonly scheme: WebhookScheme;
  readonly header: HeaderOf;
  readonly body: Buffer;
}

/** These senders also send forms. */
const SENDS_FORMS: readonly WebhookScheme[] = ['github', 'slack'];

/**
 * What was sent, as the input of a run: the JSON, or of a form its fields; where one of them is `payload`, the JSON in it.
 * @throws ToolError (invalid_input, unsupported_media_type)
 */
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

/** Something inside the content, if it is a text. */
export function textAt(content: unknown, ...path: readonly string[]): string | undefined {
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

/**
 * Equal for repeats of one delivery. Senders who sign the time sign a repeat anew, so what they number is known by its number; the rest by its
 * signature.
 */
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
