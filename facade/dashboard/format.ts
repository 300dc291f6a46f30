/** A member's name in words: `lastUsedAt` -> `Last used`, `agentId` -> `Agent`. */
export function labelOf(name: string): string {
  const words = name
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .replaceAll(/[_-]/g, ' ')
    .toLowerCase()
    .replace(/^is /, '')
    .replace(/ (at|id)$/, '')
    .replace(/ ids$/, 's')
    .replace(/ ms$/, ' (ms)');
  return withCapital(shortWordsIn(SPELLED_OUT[words] ?? words));
}

/** Names of programs that nobody says. */
const SPELLED_OUT: Readonly<Record<string, string>> = {
  args: 'arguments',
  env: 'environment variables',
  'mime type': 'media type',
  oauth: 'OAuth',
};

/** A value of an enumeration in words: `in_progress` -> `In progress`. */
export function wordOf(value: string): string {
  return withCapital(shortWordsIn(value.replaceAll(/[_-]/g, ' ')));
}

/** What kind of caller: a session is a person who is signed in. */
export function callerWord(type: string): string {
  return type === 'session' ? 'person' : shortWordsIn(type.replaceAll(/[_-]/g, ' '));
}

const SHORT_WORDS = /\b(url|uri|id|uid|mrr|ltv|api|mcp|ip|usd|csv|json|tts|http|sms|ok)(s?)\b/g;

/** Words that are spoken by their letters, as they are written: `api keys` -> `API keys`. */
function shortWordsIn(words: string): string {
  return words.replace(SHORT_WORDS, (_, word: string, plural: string) => word.toUpperCase() + plural);
}

function withCapital(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** How long ago, or how long until then: `5m ago`, `in 3d`; a date beyond a month. */
export function relative(instant: string, now = Date.now()): string {
  const seconds = Math.round((now - Date.parse(instant)) / 1000);
  const size = Math.abs(seconds);
  if (size < 5) return 'now';
  if (size >= 31 * DAY) return shortDate(instant);
  const short =
    size < MINUTE
      ? `${size}s`
      : size < HOUR
        ? `${Math.floor(size / MINUTE)}m`
        : size < DAY
          ? `${Math.floor(size / HOUR)}h`
          : `${Math.floor(size / DAY)}d`;
  return seconds > 0 ? `${short} ago` : `in ${short}`;
}

// Making an `Intl.DateTimeFormat` takes longer than drawing a page, so dates are put together here.
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'] as const;
const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'] as const;

const twoDigits = (value: number) => String(value).padStart(2, '0');

function shortDate(instant: string): string {
  const date = new Date(instant);
  return `${MONTHS[date.getMonth()]} ${date.getDate()}, ${date.getFullYear()}`;
}

/** The parts of a day without a time: `2026-11-02`. */
export function partsOf(date: string): { readonly year: string; readonly month: string; readonly day: number } {
  const [year = '', month, day] = date.split('-');
  return { year, month: MONTHS[Number(month) - 1] ?? '', day: Number(day) };
}

/** `Sunday, Nov 22, 2026, 14:05:09 UTC+01:00`, in the time zone of the browser. */
export function exactTime(instant: string): string {
  const date = new Date(instant);
  const minutes = -date.getTimezoneOffset();
  const away = Math.abs(minutes);
  const zone = `UTC${minutes < 0 ? '-' : '+'}${twoDigits(Math.floor(away / MINUTE))}:${twoDigits(away % MINUTE)}`;
  return `${DAYS[date.getDay()]}, ${shortDate(instant)}, ${clock(date)}:${twoDigits(date.getSeconds())} ${zone}`;
}

function clock(date: Date): string {
  return `${twoDigits(date.getHours())}:${twoDigits(date.getMinutes())}`;
}

/** A moment soon to come: `14:05`, and the day before it where that is another one. */
export function clockTime(instant: string, now = new Date()): string {
  const then = new Date(instant);
  return then.toDateString() === now.toDateString() ? clock(then) : `${shortDate(instant)}, ${clock(then)}`;
}

/** How long until then, in whole units: `43 minutes`, `6 days`. */
export function timeLeft(instant: string, now = Date.now()): string {
  const seconds = Math.max(0, Math.round((Date.parse(instant) - now) / 1000));
  if (seconds < 2 * MINUTE) return counted(seconds, 'second');
  if (seconds < 2 * HOUR) return counted(Math.round(seconds / MINUTE), 'minute');
  return seconds < 2 * DAY ? counted(Math.round(seconds / HOUR), 'hour') : counted(Math.floor(seconds / DAY), 'day');
}

/** `1,234.5`; as many digits after the point as are needed, up to the most. */
export function number(value: number, most = 2): string {
  const fixed = value.toFixed(most);
  const digits = most > 0 ? fixed.replace(/\.?0+$/, '') : fixed;
  return digits === '-0' ? '0' : grouped(digits);
}

/** With commas between thousands. What is not a decimal number, such as `NaN` or `1e+21`, stays. */
function grouped(digits: string): string {
  return digits.replace(/^-?\d+(?=\.|$)/, (whole) => whole.replace(/\B(?=(\d{3})+$)/g, ','));
}

export function percent(value: number, digits = 1): string {
  return `${number(value * 100, digits)}%`;
}

const SIGNS: Readonly<Record<string, string>> = { USD: '$', EUR: '€', GBP: '£', JPY: '¥', INR: '₹', CNY: 'CN¥' };

/** `-$1,234`, `€9.90`, `CHF 12`. */
export function money(value: number, currency: string, digits = 0): string {
  const amount = grouped(Math.abs(value).toFixed(digits));
  const minus = value < 0 && /[1-9]/.test(amount) ? '-' : '';
  return `${minus}${SIGNS[currency] ?? `${currency}\u00a0`}${amount}`;
}

/** `1 agent`, `3 agents`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${number(count)} ${count === 1 ? one : many}`;
}

/** How long something took, or has taken so far: `230 ms`, `4.2 s`, `3 min`. Empty if it has not begun. */
export function duration(from: string | undefined, to: string | undefined): string {
  if (from === undefined) return '';
  const ms = (to === undefined ? Date.now() : Date.parse(to)) - Date.parse(from);
  if (ms < 1000) return `${ms} ms`;
  return ms < 120_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 60_000)} min`;
}
