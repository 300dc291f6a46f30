/** A member's name in words: `lastUsedAt` -> `Last used`, `agentId` -> `Agent`. */
export function labelOf(name: string): string {
  const words = name
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .replaceAll(/[_-]/g, ' ')
    .toLowerCase()
    .replace(/ (at|id)$/, '')
    .replace(/ ids$/, 's')
    .replace(/\b(url|id|uid|mrr|ltv|api|mcp|ip|usd|csv|json|tts)\b/g, (word) => word.toUpperCase());
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** A value of an enumeration in words: `in_progress` -> `In progress`. */
export function wordOf(value: string): string {
  const words = value.replaceAll(/[_-]/g, ' ');
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

const DATE = new Intl.DateTimeFormat('en-US', { year: 'numeric', month: 'short', day: 'numeric' });
const EXACT = new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeStyle: 'long' });

export function shortDate(instant: string): string {
  return DATE.format(new Date(instant));
}

export function exactTime(instant: string): string {
  return EXACT.format(new Date(instant));
}

const CLOCK = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });

/** A moment soon to come: `14:05`, and the day before it where that is another one. */
export function clockTime(instant: string, now = new Date()): string {
  const then = new Date(instant);
  const time = CLOCK.format(then);
  return then.toDateString() === now.toDateString() ? time : `${DATE.format(then)}, ${time}`;
}

/** How long until then, in whole units: `43 minutes`, `6 days`. */
export function timeLeft(instant: string, now = Date.now()): string {
  const seconds = Math.max(0, Math.round((Date.parse(instant) - now) / 1000));
  if (seconds < 2 * MINUTE) return counted(seconds, 'second');
  if (seconds < 2 * HOUR) return counted(Math.round(seconds / MINUTE), 'minute');
  return seconds < 2 * DAY ? counted(Math.round(seconds / HOUR), 'hour') : counted(Math.floor(seconds / DAY), 'day');
}

export function number(value: number): string {
  return new Intl.NumberFormat('en-US', { maximumFractionDigits: 2 }).format(value);
}

export function percent(value: number, digits = 1): string {
  return new Intl.NumberFormat('en-US', { style: 'percent', maximumFractionDigits: digits }).format(value);
}

export function money(value: number, currency: string, digits = 0): string {
  return new Intl.NumberFormat('en-US', { style: 'currency', currency, maximumFractionDigits: digits }).format(value);
}

/** `1 agent`, `3 agents`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${number(count)} ${count === 1 ? one : many}`;
}

/** How long something took, or has taken so far: `230 ms`, `4.2 s`, `3 min`. Empty where it has not begun. */
export function duration(from: string | undefined, to: string | undefined): string {
  if (from === undefined) return '';
  const ms = (to === undefined ? Date.now() : Date.parse(to)) - Date.parse(from);
  if (ms < 1000) return `${ms} ms`;
  return ms < 120_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 60_000)} min`;
}
