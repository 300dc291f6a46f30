import type { ImportedRow } from '../../store/rows/records.ts';

/** The day after the last of the rows. */
export const NOW = Date.parse('2026-06-10T12:00:00Z');
const DAY = 86_400_000;
const SPAN = 400 * DAY;
const START = NOW - SPAN;

export const FUNNEL = ['signed_up', 'site.created', 'site.published', 'invited'];
const NAMES = [...FUNNEL, 'export', 'login', 'opened', 'searched'];
const REFERRERS = [
  undefined,
  'https://www.google.com/',
  'https://t.co/x',
  'https://blog.example/',
  'https://youtu.be/',
];
const COUNTRIES = 'DE FR US GB IT ES NL PL SE NO DK FI AT CH BE PT IE CZ HU RO BG GR JP KR IN BR MX CA AU NZ'.split(
  ' ',
);
const DEVICES = ['desktop', 'mobile', 'tablet'];
const BROWSERS = ['Chrome', 'Safari', 'Firefox', 'Edge', 'Samsung', 'Opera'];
const SYSTEMS = ['Windows', 'macOS', 'Linux', 'Android', 'iOS'];

/** Numbers in [0, 1), the same in every run. */
class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  next(): number {
    this.#state = (this.#state * 48271) % 2147483647;
    return this.#state / 2147483647;
  }

  pick<Value>(values: readonly Value[]): Value {
    // The place is below the length.
    return values[Math.floor(values.length * this.next() ** 2)] as Value;
  }
}

const iso = (time: number) => new Date(time).toISOString();

export function* users(count: number): Generator<ImportedRow, void> {
  const dice = new Dice(3);
  for (let at = 0; at < count; at += 1) {
    const createdAt = START + dice.next() * SPAN;
    const deleted = dice.next() < 0.1 && { deletedAt: iso(createdAt + dice.next() * (NOW - createdAt)) };
    const row = { uid: `u${at}`, email: `u${at}@example.com`, status: dice.pick(['FREE', 'PRO', 'LEGACY']) };
    yield { ...row, createdAt: iso(createdAt), ...deleted };
  }
}

/** One for each user; some are raised, some have ended. */
export function* subscriptions(count: number): Generator<ImportedRow, void> {
  const dice = new Dice(5);
  for (let at = 0; at < count; at += 1) {
    const startedAt = START + dice.next() * SPAN;
    const later = startedAt + dice.next() * (NOW - startedAt);
    const terms = { currency: 'EUR', interval: 'month', intervalCount: 1, quantity: 1, status: 'active' };
    const row = { id: `s${at}`, uid: `u${at}`, plan: dice.pick(['basic', 'plus', 'pro']), ...terms, amount: 1900 };
    yield { ...row, startedAt: iso(startedAt) };
    const fate = dice.next();
    if (fate < 0.2) yield { ...row, startedAt: iso(startedAt), endedAt: iso(later) };
    else if (fate < 0.4) yield { ...row, amount: 2900, startedAt: iso(startedAt), effectiveAt: iso(later) };
  }
}

export function* websites(count: number): Generator<ImportedRow, void> {
  const dice = new Dice(7);
  for (let at = 0; at < count; at += 1) {
    const createdAt = START + dice.next() * SPAN;
    const published = dice.next() < 0.6 && { publishedAt: iso(createdAt + dice.next() * (NOW - createdAt)) };
    const row = { id: `w${at}`, uid: `u${at}`, url: `https://${at}.example`, name: `Site ${at}` };
    yield { ...row, state: published ? 'published' : 'draft', createdAt: iso(createdAt), ...published };
  }
}

/** Nearly by time, as exports are. */
export function* events(count: number, userCount: number): Generator<ImportedRow, void> {
  const dice = new Dice(11);
  for (let at = 0; at < count; at += 1) {
    const time = START + ((at + dice.next() * 1000) / (count + 1000)) * SPAN;
    const row = { id: `e${at}`, uid: `u${Math.floor(dice.next() * userCount)}`, name: dice.pick(NAMES) };
    yield { ...row, at: iso(time) };
  }
}

/** Sessions of one to six visits; some visitors come back. They are nearly in order of time. */
export function* visits(count: number, userCount: number, seed = 13): Generator<ImportedRow, void> {
  const dice = new Dice(seed);
  const visitors = Math.ceil(count / 4);
  for (let at = 0; at < count; ) {
    let time = START + ((at + dice.next() * 1000) / (count + 1000)) * SPAN;
    const number = Math.floor(dice.next() * visitors);
    const technology = { device: dice.pick(DEVICES), browser: dice.pick(BROWSERS), os: dice.pick(SYSTEMS) };
    const who = { visitorId: `visitor-${number}`, ...(number < userCount && { uid: `u${number}` }) };
    const referrer = dice.pick(REFERRERS);
    const where = { country: dice.pick(COUNTRIES), ...technology, ...(referrer && { referrer }) };
    for (let left = 1 + Math.floor(6 * dice.next() ** 3); left > 0 && at < count; left -= 1, at += 1) {
      yield { id: `${seed}-${at}`, ...who, at: iso(time), page: `/page/${at % 97}`, ...where };
      time += 10_000 + dice.next() * 600_000;
    }
  }
}
