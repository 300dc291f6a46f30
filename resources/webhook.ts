import { z } from 'zod';
import { principalRef } from './audit-entry.ts';
import { bookkeeping, email, namesUser, nameText, plainLine, recordId, timestamp } from './fields.ts';
import { SECRET_MASK } from './integration.ts';
import { address } from './markers.ts';

/** What an alert can be about, each with the words that people read. */
export const ALERTS = {
  'approval.requested': 'A call waits for approval',
  'flow.failed': 'A run of a flow failed',
  'integration.waiting': 'An integration has tools that wait for approval',
  'integration.away': 'An integration cannot be reached',
  'key.expiring': 'An API key is about to expire',
  'capsule.expiring': 'A capsule is about to expire',
  'budget.warned': 'A budget is used to the part at which it warns',
  'budget.reached': 'A budget is reached',
  'backup.old': 'Backups are not made as planned, and the newest is old or will be',
  'store.not_writable': 'The store takes no writes',
  'storage.nearly_full': 'A limit of storage is used to nine tenths, or memory is nearly full',
  'clock.wrong': 'The clock of a process is wrong',
  'webhook.failed': 'A webhook was switched off because its target failed for a day',
} as const;
export type AlertType = keyof typeof ALERTS;

const alertType = z.enum(Object.keys(ALERTS) as [AlertType, ...AlertType[]]); // the keys of ALERTS

const unique = (list: readonly unknown[]) => new Set(list).size === list.length;

export const webhookFields = {
  name: plainLine(nameText(120)),
  target: z
    .strictObject({
      url: address(
        z
          .url({ protocol: /^https?$/, error: 'Write an http or https URL.' })
          .max(2000, 'Is too long; write at most 2000 characters.')
          .refine((url) => !namesUser(url), 'May hold no user and password; check the signature instead.'),
      )
        .optional()
        .describe('Gets a signed POST for each event (Standard Webhooks).'),
      email: email.optional().describe('Gets mails, each about everything since the previous one.'),
    })
    .refine(({ url, email }) => (url === undefined) !== (email === undefined), 'Give either url or email.')
    .describe('Where to: `url` or `email`.'),
  events: z
    .array(plainLine(z.string().min(1).max(200)))
    .max(200)
    .refine(unique, 'Names one type twice; leave out the second.')
    .describe('Types from list_event_types.'),
  alerts: z
    .array(alertType)
    .max(50)
    .refine(unique, 'Names one type twice; leave out the second.')
    .describe('What an operator should look at.'),
  fields: z
    .array(plainLine(z.string().min(1).max(100)))
    .max(50)
    .refine(unique, 'Names one member twice; leave out the second.')
    .describe('Members of records to send too.'),
  enabled: z.boolean(),
};

/** For whom a webhook hears of something: only what this principal may read is sent. */
const webhookOwner = principalRef.extend({
  endsWith: recordId
    .optional()
    .describe('Expiring API key behind the session of that person: its end ends the rights.'),
});

/** The stored record. Its secrets are encrypted. */
export const webhookRecord = z.object({
  id: recordId,
  name: webhookFields.name,
  target: z.object({ url: z.string().optional(), email: z.string().optional() }),
  events: z.array(z.string()),
  alerts: z.array(z.string()),
  fields: z.array(z.string()).optional(),
  enabled: z.boolean(),
  owner: webhookOwner,
  secret: z.string().optional(),
  /** The secret that a rotation replaced. It signs too until its time. */
  former: z.object({ secret: z.string(), until: timestamp }).optional(),
  /** Since when every attempt failed. */
  failingSince: timestamp.optional(),
  /** How often in a row, and from when until when nothing is tried. */
  failures: z.int().min(0).optional(),
  restsSince: timestamp.optional(),
  restsUntil: timestamp.optional(),
  lastError: z.string().optional(),
  lastSentAt: timestamp.optional(),
  /** Why the server switched it off. */
  stopped: z.string().optional(),
  /** Since when events are left out, because too many wait. */
  leavesOutSince: timestamp.optional(),
  ...bookkeeping,
});
export type WebhookRecord = z.infer<typeof webhookRecord>;

const ofServer = { secret: true, former: true, failures: true, restsSince: true, restsUntil: true } as const;

/** A subscription to events and alerts. */
export const webhook = webhookRecord.omit(ofServer).extend({
  target: z.object({ url: z.string().optional(), email: z.string().optional() }),
  owner: webhookOwner.describe(
    'Only what this principal may read is sent: the creator, or the last one to change what it sends.',
  ),
  state: z
    .enum(['ok', 'failing', 'stopped', 'disabled'])
    .describe(
      'stopped: switched off by the server, see `stopped`; update_webhook {enabled: true} switches it on again.',
    ),
  secret: z.literal(SECRET_MASK).optional(),
  earlierSecretUntil: timestamp.optional().describe('Until then the previous secret signs too.'),
  failingSince: timestamp.optional().describe('Every attempt since then failed.'),
  leavesOutSince: timestamp.optional().describe('Events are left out since then, because too many wait.'),
});
export type Webhook = z.infer<typeof webhook>;

/** What was known of the record at the time of the event, to judge who may hear of it after it is gone. It holds no content. */
const seenFacts = z.object({
  /** Ids by which grants name it. */
  ids: z.array(recordId).optional(),
  accessKeys: z.array(z.string()).optional(),
  threadId: z.string().optional(),
  createdBy: z.string().optional(),
});

const webhookEvent = z.object({
  type: z.string(),
  id: recordId.describe('Of the record that it is about.'),
  revision: z.int().min(1).optional(),
  detail: z.string().optional().describe('What was found, where no record says it.'),
  at: timestamp,
});

/** An event as it is sent. `approval` and `record` are not stored but read when it is sent. */
export type WebhookEvent = z.infer<typeof webhookEvent> & {
  /** Members that the webhook asks for, of the record as it is when the event is sent. */
  readonly record?: {
    readonly revision?: number;
    readonly fields?: Readonly<Record<string, unknown>>;
    readonly left?: 'too_large';
  };
  readonly approval?: {
    readonly tool: string;
    /** Who asked. */
    readonly by: z.infer<typeof principalRef>;
    readonly expiresAt: string;
    readonly decision?: 'approved' | 'rejected';
    readonly decidedBy?: z.infer<typeof principalRef>;
    /** The page on which a person decides. */
    readonly url: string;
  };
};

export const deliveryStatus = z
  .enum(['waiting', 'delivered', 'failed', 'withheld'])
  .describe('withheld: the owner of the webhook may not read the record, or is gone.');

export const webhookDeliveryRecord = z.object({
  id: recordId,
  webhookId: recordId,
  event: webhookEvent,
  status: deliveryStatus,
  attempts: z.int().min(0),
  firstAttemptAt: timestamp.optional(),
  nextAt: timestamp.optional(),
  lastStatus: z.int().optional(),
  lastError: z.string().optional(),
  deliveredAt: timestamp.optional(),
  facts: seenFacts.optional(),
  ...bookkeeping,
});
export type WebhookDeliveryRecord = z.infer<typeof webhookDeliveryRecord>;

export const webhookDelivery = webhookDeliveryRecord.omit({ facts: true, revision: true }).extend({
  id: recordId.describe('Sent as `webhook-id`, the same in each attempt.'),
  nextAt: timestamp.optional().describe('When the next attempt is due; a later event of the same record waits for it.'),
  lastStatus: z.int().optional().describe('HTTP status of the last answer.'),
});
export type WebhookDelivery = z.infer<typeof webhookDelivery>;

/** Something that an operator should know and that continues. While it does, it is told once. */
export const alertRecord = z.object({
  id: recordId,
  key: z.string(),
  source: z.string(),
  ...bookkeeping,
});
export type AlertRecord = z.infer<typeof alertRecord>;
