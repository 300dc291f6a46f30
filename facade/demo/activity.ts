import type { Subscription } from './customers.ts';
import {
  Chance,
  DAY,
  HOUR,
  iso,
  MINUTE,
  material,
  type Span,
  type Statement,
  season,
  statement,
  timeOfDay,
  WEEK,
} from './story.ts';
import type { DemoUser } from './users.ts';

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
    for (let week = 0, start = user.createdAt - (user.createdAt % DAY); start < now; week += 1, start += 7 * DAY) {
      if (!chance.happens(comesBack(user, paid.get(user.uid) ?? [], week, start))) continue;
      for (const day of activeDays(chance, start, week === 0 ? user.createdAt + DAY : 0)) {
        const uses = chance.happens(0.4) ? 2 : 1;
        for (let use = 0; use < uses; use += 1)
          add(chance.weighted(material.uses), timeOfDay(day, chance) + use * 7 * MINUTE);
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
  const count = chance.weighted(material.daysAWeek);
  return [...new Set(Array.from({ length: count }, () => chance.weighted(weighted)))];
}

const KNOWN = 1500;

type Visitor = Readonly<Record<'visitorId' | 'country' | 'device' | 'os' | 'browser', string>>;

/** Page views of the public site, and the one on which each user signed up. */
export function visitRows({ days }: Span, users: readonly DemoUser[]): Statement[] {
  const chance = new Chance(8);
  const known: Visitor[] = [];
  const rows: Statement[] = [];
  let visitors = 0;
  const newVisitor = (country: string): Visitor => {
    visitors += 1;
    const visitor = { visitorId: `v_${visitors}`, country, ...chance.weighted(material.machines) };
    known[(visitors - 1) % KNOWN] = visitor;
    return visitor;
  };
  const add = (visitor: Visitor, time: number, page: string, more: object) => {
    const id = `p_${rows.length + 1}`;
    rows.push(statement('visits', time, { id, ...visitor, at: iso(time), page, ...more }));
  };
  for (const [at, day] of days.entries()) {
    const usual = (26 + (44 * at) / days.length) * season(day);
    for (let left = chance.round(usual * chance.between(0.88, 1.12)); left > 0; left -= 1) {
      const isKnown = known.length > 100 && chance.happens(0.28);
      const visitor = isKnown ? chance.pick(known) : newVisitor(chance.weighted(material.countries));
      const referrer = chance.weighted(material.referrers);
      let time = timeOfDay(day, chance);
      for (let page = 0; page === 0 || (page < 9 && chance.happens(0.59)); page += 1) {
        add(visitor, time, chance.weighted(material.pages), page === 0 && referrer !== '' ? { referrer } : {});
        time += Math.floor(chance.between(15_000, 240_000));
      }
    }
  }
  for (const day of days.slice(-material.article.days)) {
    for (let left = material.article.visitors; left > 0; left -= 1) {
      const visitor = newVisitor(chance.weighted(material.countries));
      add(visitor, timeOfDay(day, chance), '/features', { referrer: material.article.referrer });
    }
  }
  for (const { uid, country, createdAt } of users) {
    if (createdAt < (days[0] ?? 0) + DAY) continue;
    add(newVisitor(country), createdAt - 30_000, '/sign-up', { uid });
  }
  return rows;
}
