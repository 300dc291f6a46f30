import type { Examples } from './example.ts';

const lin = {
  uid: 'u_1001',
  email: 'lin@acme.example',
  status: 'PRO',
  name: 'Lin',
  country: 'DE',
  createdAt: '2026-01-03T08:00:00.000Z',
  lastActiveAt: '2026-02-04T10:00:00.000Z',
};

export const userExamples: Examples = {
  list_users: {
    input: { search: 'lin', limit: 20 },
    answer: {
      data: [lin],
      nextCursor: null,
    },
  },
  get_user: {
    input: { userId: lin.uid },
    answer: lin,
  },
  get_user_billing: {
    input: { userId: lin.uid },
    answer: {
      uid: 'u_1001',
      plan: 'pro',
      status: 'active',
      currency: 'EUR',
      interval: 'month',
      mrr: 10,
      currentPeriodEnd: '2026-12-03T08:10:00.000Z',
      trialEndsAt: null,
      cancelAt: null,
      lifetimeValue: 10,
      paymentMethod: { brand: 'Visa', last4: '4242' },
      invoices: [
        {
          id: 'inv_1',
          subscriptionId: 'sub_1',
          total: 11.9,
          tax: 1.9,
          currency: 'EUR',
          status: 'paid',
          issuedAt: '2026-01-03T08:10:00.000Z',
          paidAt: '2026-01-03T08:10:05.000Z',
        },
      ],
    },
  },
  get_user_timeline: {
    input: { userId: lin.uid },
    answer: {
      data: [
        {
          id: 'event:0000000000001408',
          at: '2026-02-04T10:00:00.000Z',
          type: 'event',
          subjectId: 'e3',
          title: 'export.done',
        },
        {
          id: 'website.state_changed:site_1:1767607200000',
          at: '2026-01-05T10:00:00.000Z',
          type: 'website.state_changed',
          subjectId: 'site_1',
          title: 'Lin is published',
          properties: {
            state: 'published',
          },
        },
        {
          id: 'website.created:site_1:1767520800000',
          at: '2026-01-04T10:00:00.000Z',
          type: 'website.created',
          subjectId: 'site_1',
          title: 'Created Lin',
          properties: {
            url: 'https://lin.example',
          },
        },
        {
          id: 'event:0000000000001249',
          at: '2026-01-04T10:00:00.000Z',
          type: 'event',
          subjectId: 'e2',
          title: 'site.created',
          properties: {
            template: 'blog',
          },
        },
        {
          id: 'invoice.paid:inv_1:1767427805000',
          at: '2026-01-03T08:10:05.000Z',
          type: 'invoice.paid',
          subjectId: 'inv_1',
          title: 'Invoice paid',
          properties: {
            total: 1190,
            currency: 'EUR',
          },
        },
        {
          id: 'subscription.started:sub_1:1767427800000',
          at: '2026-01-03T08:10:00.000Z',
          type: 'subscription.started',
          subjectId: 'sub_1',
          title: 'Subscribed to pro',
        },
        {
          id: 'invoice.issued:inv_1:1767427800000',
          at: '2026-01-03T08:10:00.000Z',
          type: 'invoice.issued',
          subjectId: 'inv_1',
          title: 'Invoice issued',
          properties: {
            total: 1190,
            currency: 'EUR',
            status: 'paid',
          },
        },
        {
          id: 'user.created:u_1001:1767427200000',
          at: '2026-01-03T08:00:00.000Z',
          type: 'user.created',
          subjectId: 'u_1001',
          title: 'Signed up',
        },
        {
          id: 'event:0000000000001126',
          at: '2026-01-03T08:00:00.000Z',
          type: 'event',
          subjectId: 'e1',
          title: 'signed_up',
        },
      ],
      nextCursor: null,
    },
  },
  list_user_websites: {
    input: { userId: lin.uid },
    answer: {
      data: [
        {
          id: 'site_1',
          url: 'https://lin.example',
          name: 'Lin',
          state: 'published',
          createdAt: '2026-01-04T10:00:00.000Z',
          publishedAt: '2026-01-05T10:00:00.000Z',
        },
      ],
      nextCursor: null,
    },
  },
};
