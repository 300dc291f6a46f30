import { z } from 'zod';
import { orAgentName } from './markers.ts';

/** ISO 8601 in UTC with milliseconds, as `Date.prototype.toISOString` writes it. */
export const timestamp = z.iso.datetime();

/** A time as callers write it, with `Z` or an offset. The server stores it in the form that `instant` returns. */
export const time = z.iso
  .datetime({ offset: true, abort: true, error: 'Write a time like 2026-03-01T09:30:00Z, with Z or an offset.' })
  .refine(hasPlainYear, 'There is no such time, or its year in UTC is not one of 0001 to 9999; write another.');

export const date = z.iso
  .date({ abort: true, error: 'Write a date that there is, like 2026-03-01.' })
  .refine((text) => !text.startsWith('0000'), 'There is no year 0000; write a date from 0001-01-01 on.');

/** Whether calendars may be counted around the date or time: in texts of years far from these, dates do not sort. */
export function isNear(text: string): boolean {
  return text >= '1900' && text < '2200';
}

/** The same time in the form of `timestamp`. In this form, texts sort in the order of their times. */
export function instant(text: string): string {
  return new Date(text).toISOString();
}

/** Whether the year is 0001 to 9999: texts of other years do not sort in the order of their times, and many clients know no year 0000. */
export function hasPlainYear(text: string): boolean {
  const time = new Date(text);
  return !Number.isNaN(time.getTime()) && /^(?!0000)\d/.test(time.toISOString());
}

const INVISIBLE = /^[^\p{Cc}\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]*$/u;

/** A name that looks different from any other name: composed characters, no control characters, no invisible formatting characters. */
export function nameText(longest: number) {
  const problem = 'May hold no control or invisible formatting characters; leave them out.';
  return z.string().trim().normalize('NFC').min(1).max(longest).regex(INVISIBLE, problem);
}

const NO_LINE = /[\p{Cc}\u2028-\u202e\u2066-\u2069]/u;

/** Whether the text is one line and reads as it looks: no control characters, line breaks or marks that reverse the direction of writing. */
function isPlainLine(text: string): boolean {
  return !NO_LINE.test(text);
}

/** A label as callers write it. Stored records are not checked by this rule, because they may be older than the rule. */
export function plainLine(schema: z.ZodString): z.ZodString {
  return schema.refine(isPlainLine, 'May hold no control characters or line breaks; write it in one line.');
}

/** Whether the address is safe as a link on a page. A URL with another scheme could be a program. */
export function isWebAddress(url: string): boolean {
  return URL.canParse(url) && /^https?:$/.test(new URL(url).protocol) && !/[\s\p{Cc}]/u.test(url);
}

export const WEB_ADDRESS = 'Write an http or https URL, like https://example.com/page.';

export const recordId = z.string().min(1).max(200);

export const namePart = z.string().trim().min(1).max(200).optional();

export const agentRef = orAgentName(recordId.describe('Agent id or name.'));

/** Checked as browsers do, so `admin@localhost` is valid. The published schema names no format, because `email` would refuse it. */
export const email = z.email({ pattern: z.regexes.html5Email }).max(320);

/** Members of every record that can change. `revision` starts at 1 and grows by one with every change. */
export const bookkeeping = {
  createdAt: timestamp,
  updatedAt: timestamp,
  revision: z.int().min(1),
};

export const expectedRevision = z
  .int()
  .min(1)
  .max(2 ** 31 - 1)
  .optional()
  .describe('Refuses with `conflict` if it is not current.');

export const limit = z.int().min(1).max(100).default(20).describe('Page size.');
export const cursor = z.string().min(1).max(2000).optional().describe('From `nextCursor`.');
export const includeTotal = z.boolean().default(false).describe('Adds `total`.');

/** Input members that all list tools have. */
export const paging = { limit, cursor, includeTotal };

/** The input member of lists that sort by these members and by the times of their records. */
export function sortBy<Member extends string>(...members: readonly Member[]) {
  return sortByOnly<Member | 'createdAt' | 'updatedAt'>(...members, 'createdAt', 'updatedAt');
}

/** The input member of lists that sort by these members alone. */
export function sortByOnly<Member extends string>(...members: readonly Member[]) {
  return { sort: z.enum(members.flatMap((member) => [member, `-${member}` as const])).optional() };
}

/** The `nextCursor` of a list that always fits on one page. */
export const noNextPage = z.null().describe('Always: all of them are here.');

/** A page of records, newest first; `nextCursor` is null on the last page. */
export function pageOf<T extends z.ZodType>(record: T) {
  return z.object({
    data: z.array(record),
    nextCursor: z.string().nullable(),
    total: z.int().min(0).optional(),
  });
}

/** Whether the address holds a user or a password, in any spelling that is read so: `http:///user:pw@host` is one too. */
export function namesUser(url: string): boolean {
  if (/^[a-z][a-z\d+.-]*:[\\/]*[^\\/?#]*@/i.test(url)) return true;
  if (!URL.canParse(url)) return false;
  const { username, password } = new URL(url);
  return username !== '' || password !== '';
}
