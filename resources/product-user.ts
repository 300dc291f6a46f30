import { z } from 'zod';
import { timestamp } from './fields.ts';
import { userStatus, websiteState } from './imported-rows.ts';

export const productUser = z.object({
  uid: z.string(),
  email: z.string(),
  status: userStatus,
  plan: z.string().optional().describe('Name of the plan, as imported with the user.'),
  name: z.string().optional(),
  country: z.string().optional().describe('ISO 3166-1 alpha-2.'),
  createdAt: timestamp,
  deletedAt: timestamp.optional(),
  lastActiveAt: timestamp.optional().describe('Time of the last event.'),
});

const amount = z.number().describe('Major units of `currency`.');

const userInvoice = z.object({
  id: z.string(),
  subscriptionId: z.string().optional(),
  total: amount,
  tax: amount,
  currency: z.string().describe('Of the invoice.'),
  status: z.enum(['paid', 'open', 'void', 'refunded']),
  issuedAt: timestamp,
  paidAt: timestamp.optional(),
});

export const userBilling = z.object({
  uid: z.string(),
  plan: z.string().nullable().describe('Of the subscription that brings most now, else of the latest.'),
  status: z.enum(['none', 'trialing', 'active', 'past_due', 'canceled']),
  currency: z.string().describe('Of mrr and lifetimeValue: the currency of the workspace.'),
  interval: z.enum(['day', 'week', 'month', 'year']).nullable(),
  mrr: z.number().describe('Monthly recurring revenue of all subscriptions now, in major units.'),
  currentPeriodEnd: timestamp.nullable(),
  trialEndsAt: timestamp.nullable(),
  cancelAt: timestamp.nullable().describe('When the paid time ends, where that is known.'),
  lifetimeValue: z.number().describe('Paid invoices without tax so far, in major units.'),
  paymentMethod: z
    .object({ brand: z.string(), last4: z.string() })
    .nullable()
    .describe('As imported with the user; null where it was not.'),
  invoices: z.array(userInvoice).describe('The latest 100, newest first.'),
});

export const userWebsite = z.object({
  id: z.string(),
  url: z.string(),
  name: z.string(),
  state: websiteState,
  createdAt: timestamp,
  publishedAt: timestamp.nullable(),
});

export const timelineEntry = z.object({
  id: z.string(),
  at: timestamp,
  type: z.enum([
    'user.created',
    'user.deleted',
    'event',
    'subscription.started',
    'subscription.changed',
    'subscription.canceled',
    'subscription.ended',
    'trial.ended',
    'invoice.issued',
    'invoice.paid',
    'website.created',
    'website.state_changed',
  ]),
  subjectId: z.string().describe('Id of the user, event, subscription, invoice or website.'),
  title: z.string(),
  properties: z
    .record(z.string(), z.unknown())
    .optional()
    .describe(
      'Amounts are in major units of `currency`, as in get_user_billing. Properties of product events are as imported.',
    ),
});
export type TimelineEntry = z.infer<typeof timelineEntry>;
