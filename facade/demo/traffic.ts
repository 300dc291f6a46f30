import { Chance } from './random.ts';
import { type Statement, statement } from './rows.ts';
import { DAY, iso, type Span, season, timeOfDay } from './span.ts';
import { COUNTRIES, type DemoUser } from './users.ts';

const PAGES = [
  ['/', 34],
  ['/pricing', 17],
  ['/templates', 14],
  ['/blog/first-website', 11],
  ['/features', 10],
  ['/blog/online-shop', 7],
  ['/help', 4],
  ['/about', 3],
] as const;
const REFERRERS = [
  ['', 27],
  ['https://www.google.com/', 38],
  ['https://www.bing.com/', 5],
  ['https://duckduckgo.com/', 4],
  ['https://www.linkedin.com/', 6],
  ['https://www.instagram.com/', 5],
  ['https://www.youtube.com/', 4],
  ['https://mail.google.com/', 3],
  ['https://makers.example/tools', 8],
] as const;
const MACHINES: readonly (readonly [Pick<Visitor, 'device' | 'os' | 'browser'>, number])[] = [
  [{ device: 'desktop', os: 'Windows', browser: 'Chrome' }, 24],
  [{ device: 'desktop', os: 'Windows', browser: 'Edge' }, 9],
  [{ device: 'desktop', os: 'macOS', browser: 'Safari' }, 11],
  [{ device: 'desktop', os: 'macOS', browser: 'Chrome' }, 8],
  [{ device: 'desktop', os: 'Linux', browser: 'Firefox' }, 4],
  [{ device: 'mobile', os: 'iOS', browser: 'Safari' }, 20],
  [{ device: 'mobile', os: 'Android', browser: 'Chrome' }, 20],
  [{ device: 'tablet', os: 'iPadOS', browser: 'Safari' }, 4],
];

/** An article sends that many visitors more on each of the last two days, the day of the story among them. */
const ARTICLE = { referrer: 'https://makers.example/best-site-builders', visitors: 150, days: 2 };

/** How many visitors of late may come back. */
const KNOWN = 1500;

interface Visitor {
  readonly visitorId: string;
  readonly country: string;
  readonly device: string;
  readonly os: string;
  readonly browser: string;
}

/** Page views of the public site, and the one on which each user signed up. */
export function visitRows({ days }: Span, users: readonly DemoUser[]): Statement[] {
  const chance = new Chance(8);
  const known: Visitor[] = [];
  const rows: Statement[] = [];
  let visitors = 0;
  const newVisitor = (country: string): Visitor => {
    visitors += 1;
    const visitor = { visitorId: `v_${visitors}`, country, ...chance.weighted(MACHINES) };
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
      const visitor = isKnown ? chance.pick(known) : newVisitor(chance.weighted(COUNTRIES));
      const referrer = chance.weighted(REFERRERS);
      let time = timeOfDay(day, chance);
      for (let page = 0; page === 0 || (page < 9 && chance.happens(0.59)); page += 1) {
        add(visitor, time, chance.weighted(PAGES), page === 0 && referrer !== '' ? { referrer } : {});
        time += Math.floor(chance.between(15_000, 240_000));
      }
    }
  }
  for (const day of days.slice(-ARTICLE.days)) {
    for (let left = ARTICLE.visitors; left > 0; left -= 1) {
      const visitor = newVisitor(chance.weighted(COUNTRIES));
      add(visitor, timeOfDay(day, chance), '/features', { referrer: ARTICLE.referrer });
    }
  }
  for (const { uid, country, createdAt } of users) {
    if (createdAt < (days[0] ?? 0) + DAY) continue;
    add(newVisitor(country), createdAt - 30_000, '/sign-up', { uid });
  }
  return rows;
}
