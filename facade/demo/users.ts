import { Chance, DAY, HOUR, iso, material, type Span, type Statement, season, statement, timeOfDay } from './story.ts';

export interface DemoUser {
  readonly uid: string;
  readonly email: string;
  readonly name: string;
  readonly country: string;
  readonly createdAt: number;
  readonly siteAt?: number;
  readonly publishedAt?: number;
  readonly upgradedAt?: number;
}

/** In this recent period most people who make a site do not publish it, because the new editor hides the button. */
const EDITOR_DAYS = 30;
const NOT_PUBLISHED = 0.75;

export function makeUsers(span: Span): DemoUser[] {
  const chance = new Chance(9);
  const since = (span.days.at(-1) ?? 0) - EDITOR_DAYS * DAY;
  return usersBefore(span).map((user) => {
    if (!user.siteAt || user.siteAt < since || !chance.happens(NOT_PUBLISHED)) return user;
    const { publishedAt: _, upgradedAt: __, ...lost } = user;
    return lost;
  });
}

/** The users that there would be without the new editor. */
function usersBefore({ days }: Span): DemoUser[] {
  const chance = new Chance(1);
  let number = 1000;
  return days.flatMap((day, at) => {
    const growth = 1.7 + (3.6 * at) / days.length;
    const count = chance.round(growth * season(day) * chance.between(0.75, 1.25));
    return Array.from({ length: count }, () => {
      number += 1;
      return oneUser(chance, day, number);
    });
  });
}

function oneUser(chance: Chance, day: number, number: number): DemoUser {
  const [first, last] = [chance.pick(material.firstNames), chance.pick(material.lastNames)];
  const createdAt = timeOfDay(day, chance);
  const user = {
    uid: `user_${number}`,
    email: `${first}.${last}.${number}@example.com`.toLowerCase(),
    name: `${first} ${last}`,
    country: chance.weighted(material.countries),
    createdAt,
  };
  if (!chance.happens(0.78)) return user;
  const siteAt = createdAt + Math.floor(chance.between(0.05, 20) * HOUR);
  if (!chance.happens(0.66)) return { ...user, siteAt };
  const publishedAt = siteAt + Math.floor(chance.between(0.1, 6) * DAY);
  if (!chance.happens(0.55)) return { ...user, siteAt, publishedAt };
  const upgradedAt = publishedAt + Math.floor(chance.between(0.02, 18) * DAY);
  return { ...user, siteAt, publishedAt, upgradedAt };
}

/** Sites from draft to publication, some suspended, some taken down. */
export function websiteRows(users: readonly DemoUser[]): Statement[] {
  const chance = new Chance(7);
  return users.flatMap(({ uid, name, siteAt, publishedAt }) => {
    if (!siteAt) return [];
    const id = `site_${uid.slice(5)}`;
    const subject = chance.pick(material.siteSubjects);
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
