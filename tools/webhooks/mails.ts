import { ALERTS, type WebhookDeliveryRecord, type WebhookEvent, type WebhookRecord } from '../../resources/webhook.ts';
import { OWN_EVENTS } from './delivery-refusal.ts';

/** Sends a mail. Rejects if the mail server does not take it. */
export type SendMail = (mail: {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}) => Promise<void>;

/** What comes within this time after the first event goes into one mail. */
export const GATHER_MS = 30_000;
/** The shortest time between two mails of one webhook. */
export const BETWEEN_MS = 10 * 60_000;
export const MOST_LINES = 50;

export function isMailDue(
  { lastSentAt }: Pick<WebhookRecord, 'lastSentAt'>,
  { createdAt }: Pick<WebhookDeliveryRecord, 'createdAt'>,
  now: Date,
): boolean {
  const since = (at: string) => Math.abs(now.getTime() - Date.parse(at)); // the clock may have been set back
  return since(createdAt) >= GATHER_MS && (lastSentAt === undefined || since(lastSentAt) >= BETWEEN_MS);
}

interface MailContext {
  readonly workspace: string;
  readonly baseUrl: string;
}

/** One mail about all of them: what happened and where to look, and no content. */
export function mailOf(
  { name, target }: Pick<WebhookRecord, 'name' | 'target'>,
  events: readonly { readonly event: WebhookEvent }[],
  { workspace, baseUrl }: MailContext,
) {
  const [first] = events;
  const more = events.length > 1 ? ` and ${events.length - 1} more` : '';
  const lines = events.slice(0, MOST_LINES).map(({ event }) => lineOf(event));
  const left = events.length > MOST_LINES ? [`and ${events.length - MOST_LINES} more`] : [];
  const text = `In ${workspace}:

${[...lines, ...left].join('\n')}

See ${baseUrl}
You get this mail because the webhook "${name}" sends to this address. Anybody who may manage webhooks can change it: ${baseUrl}/webhooks
`;
  return { to: target.email ?? '', subject: `${workspace}: ${first ? wordsOf(first.event.type) : ''}${more}`, text };
}

function lineOf({ type, id, revision, detail, at, approval }: WebhookEvent): string {
  const state = revision === undefined ? '' : `, revision ${revision}`;
  return `${minuteOf(at)}  ${wordsOf(type)}: ${approval ? wordsOfApproval(approval) : (detail ?? `${id}${state}`)}`;
}

/** `2026-03-02 09:30:00 UTC` */
function minuteOf(at: string): string {
  return `${at.slice(0, 19).replace('T', ' ')} UTC`;
}

function wordsOfApproval({ tool, by, expiresAt, decision, decidedBy, url }: NonNullable<WebhookEvent['approval']>) {
  const asked = `${tool}, asked by ${quoted(by.name)}`;
  if (decision) return `${asked}, ${decision}${decidedBy ? ` by ${quoted(decidedBy.name)}` : ''}\n    ${url}`;
  return `${asked}, until ${minuteOf(expiresAt)}\n    Look and decide: ${url} (opening it decides nothing)`;
}

const LONGEST_NAME = 100;

/** Anybody can give a key or an app any name, so it is no other line and no long text. */
function quoted(name: string): string {
  return JSON.stringify(name.replace(/\s+/gu, ' ').slice(0, LONGEST_NAME));
}

function wordsOf(type: string): string {
  if (type === OWN_EVENTS.test) return 'This is a test';
  if (type === OWN_EVENTS.gap) return 'Events were left out, because too many waited';
  if (type === 'approval.decided') return 'A call that waited was decided';
  return Object.entries(ALERTS).find(([alert]) => alert === type)?.[1] ?? type;
}
