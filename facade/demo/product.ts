import type { Subscription } from './customers.ts';
import { Chance } from './random.ts';
import { type Statement, statement } from './rows.ts';
import { DAY, HOUR, iso, MINUTE, season, timeOfDay, WEEK } from './span.ts';
import type { DemoUser } from './users.ts';

/** Features, and how often an active user takes each. */
const USES = [
  ['signed_in', 30],
  ['page_edited', 34],
  ['form_received', 12],
  ['ai_text_written', 11],
  ['newsletter_sent', 7],
  ['product_added', 6],
] as const;

/** What the settings say of the events below. */
export const analyticsSettings = {
  features: {
    Editor: ['page_edited'],
    'AI texts': ['ai_text_written'],
    Newsletter: ['newsletter_sent'],
    Shop: ['product_added'],
    Domains: ['domain_connected'],
  },
  funnel: ['signed_up', 'site_created', 'site_published', 'plan_upgraded'],
  activityEvents: [
    'signed_up',
    'signed_in',
    'site_created',
    'site_published',
    'page_edited',
    'ai_text_written',
    'newsletter_sent',
    'product_added',
    'domain_connected',
  ],
};

/** What users did: their first steps, then weeks in which they come back or not. */
export function eventRows(
  users: readonly DemoUser[],
  subscriptions: readonly Subscription[],
  now: number,
): Statement[] {
  const chance = new Chance(5);
  const paid = new Map<string, Subscription[]>();
  for (const one of subscriptions) paid.set(one.user.uid, [...(paid.get(one.user.uid) ?? []), one]);
  return users.flatMap((user) => {
    const rows: Statement[] = [];
    const add = (name: string, at: number, properties?: Record<string, string>) => {
      const id = `e_${user.uid.slice(5)}_${rows.length + 1}`;
      rows.push(statement('events', at, { id, uid: user.uid, name, at: iso(at), ...(properties && { properties }) }));
    };
    const [first] = paid.get(user.uid) ?? [];
    add('signed_up', user.createdAt, { source: chance.pick(['website', 'invitation', 'campaign']) });
    if (user.siteAt)
      add('site_created', user.siteAt, { template: chance.pick(['Studio', 'Shop', 'Portfolio', 'Café']) });
    if (user.publishedAt) add('site_published', user.publishedAt);
    if (user.upgradedAt && first) {
      add('plan_upgraded', user.upgradedAt, { plan: first.terms[0]?.terms.plan ?? '' });
      if (chance.happens(0.6)) add('domain_connected', user.upgradedAt + Math.floor(chance.between(1, 90) * HOUR));
    }
    for (let week = 0, start = dayOf(user.createdAt); start < now; week += 1, start += 7 * DAY) {
      if (!chance.happens(comesBack(user, paid.get(user.uid) ?? [], week, start))) continue;
      for (const day of activeDays(chance, start, week === 0 ? user.createdAt + DAY : 0)) {
        const uses = chance.happens(0.4) ? 2 : 1;
        for (let use = 0; use < uses; use += 1) add(chance.weighted(USES), timeOfDay(day, chance) + use * 7 * MINUTE);
      }
    }
    return rows;
  });
}

/** The probability of a visit in a week: falls from the first weeks on and levels off, higher for those who pay. */
function comesBack(user: DemoUser, paid: readonly Subscription[], week: number, start: number): number {
  const begun = paid.filter(({ paidFrom }) => paidFrom <= start + 7 * DAY);
  const gone = begun.length > 0 && begun.every(({ endedAt }) => endedAt !== undefined && endedAt < start);
  const floor = gone ? 0.03 : begun.length > 0 ? 0.56 : user.publishedAt ? 0.13 : user.siteAt ? 0.06 : 0.02;
  const year = season(start) / (WEEK[new Date(start).getUTCDay()] ?? 1);
  return Math.min(0.97, (floor + (0.72 - floor) * Math.exp(-week / 2.6)) * year);
}

function activeDays(chance: Chance, start: number, notBefore: number): number[] {
  const days = [0, 1, 2, 3, 4, 5, 6].map((day) => start + day * DAY).filter((day) => day >= notBefore);
  if (days.length === 0) return [];
  const weighted = days.map((day) => [day, season(day)] as const);
  const count = chance.weighted([
    [1, 5],
    [2, 3],
    [3, 1],
  ]);
  return [...new Set(Array.from({ length: count }, () => chance.weighted(weighted)))];
}

function dayOf(time: number): number {
  return time - (time % DAY);
}

/** Accounts: free, paying while a subscription runs, and free again. */
export function userRows(users: readonly DemoUser[], subscriptions: readonly Subscription[]): Statement[] {
  const chance = new Chance(6);
  const rows = new Map(users.map((user) => [user.uid, [statement('users', user.createdAt, account(user, 'FREE'))]]));
  for (const { user, paidFrom, endedAt } of subscriptions) {
    const own = rows.get(user.uid);
    own?.push(statement('users', paidFrom, { ...account(user, 'PRO'), ...paymentOf(user) }));
    if (endedAt) own?.push(statement('users', endedAt, account(user, 'FREE')));
  }
  for (const user of users) {
    const isFree = rows.get(user.uid)?.length === 1;
    if (!isFree || !chance.happens(0.05)) continue;
    const deletedAt = user.createdAt + Math.floor(chance.between(20, 300) * DAY);
    const row = { ...account(user, 'FREE'), deletedAt: iso(deletedAt) };
    rows.get(user.uid)?.push(statement('users', deletedAt, row));
  }
  return [...rows.values()].flat();
}

function account({ uid, email, name, country, createdAt }: DemoUser, status: 'FREE' | 'PRO') {
  return { uid, email, status, name, country, createdAt: iso(createdAt) };
}

const BRANDS = ['Visa', 'Mastercard', 'American Express'];

function paymentOf({ uid }: DemoUser) {
  const number = Number(uid.slice(5));
  return {
    paymentBrand: BRANDS[number % BRANDS.length] ?? 'Visa',
    paymentLast4: String((number * 7919) % 10_000).padStart(4, '0'),
  };
}

const SUBJECTS =
  'Atelier Bakery Cycling Dance Ceramics Garden Yoga Records Coffee Bookshop Photo Legal Dental Wood'.split(' ');

/** Sites from draft to publication, some suspended, some taken down. */
export function websiteRows(users: readonly DemoUser[]): Statement[] {
  const chance = new Chance(7);
  return users.flatMap(({ uid, name, siteAt, publishedAt }) => {
    if (!siteAt) return [];
    const id = `site_${uid.slice(5)}`;
    const subject = chance.pick(SUBJECTS);
    const url = `https://${subject.toLowerCase()}-${uid.slice(5)}.sitewell.example`;
    const site = { id, uid, url, name: `${name.split(' ')[0]}'s ${subject}`, createdAt: iso(siteAt) };
    const rows = [statement('websites', siteAt, { ...site, state: 'draft' })];
    if (!publishedAt) return rows;
    const published = { ...site, publishedAt: iso(publishedAt) };
    rows.push(statement('websites', publishedAt, { ...published, state: 'published' }));
    if (!chance.happens(0.16)) return rows;
    const time = publishedAt + Math.floor(chance.between(20, 240) * DAY);
    const state = chance.happens(0.3) ? 'suspended' : 'deleted';
    rows.push(statement('websites', time, { ...published, state, effectiveAt: iso(time) }));
    return rows;
  });
}
