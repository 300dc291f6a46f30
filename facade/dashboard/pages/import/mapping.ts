import type { FileRow, ImportedRow } from './rows.ts';
import { typed } from './rows.ts';

/** A member that rows of a type have. */
export type Member = Readonly<{ name: string; needed: boolean }>;

/** What each column of the file becomes; those that are missing are left out. */
export type Mapping = ReadonlyMap<string, string>;

/** The members of one type, out of the description that lists those of all types: `users {uid, name?}; events {…}`. */
export function membersOf(description: string | undefined, type: string): readonly Member[] {
  const members = description && new RegExp(`\\b${type} \\{([^}]+)\\}`).exec(description)?.[1];
  return (members || '')
    .split(',')
    .map((member) => member.trim())
    .filter((member) => member !== '')
    .map((member) => ({ name: member.replace(/\?$/, ''), needed: !member.endsWith('?') }));
}

/** The columns of a file in its own order, with the first values that stand in each. */
export function columnsOf(rows: readonly FileRow[]): ReadonlyMap<string, readonly string[]> {
  const columns = new Map<string, string[]>();
  for (const one of rows.slice(0, LOOKED_AT)) {
    if (!('row' in one)) continue;
    for (const [name, value] of Object.entries(one.row)) {
      const values = columns.get(name) ?? [];
      columns.set(name, values);
      if (values.length < 2 && value !== '') values.push(typeof value === 'string' ? value : JSON.stringify(value));
    }
  }
  return columns;
}

/** Rows that are looked at for their columns. A CSV file names them all in its first line. */
const LOOKED_AT = 1000;

/** Words of other systems, without spaces and signs, for members of ours. */
export const OTHER_WORDS: Readonly<Record<string, readonly string[]>> = {
  uid: ['userid', 'user', 'customerid', 'customer', 'accountid', 'memberid'],
  id: ['key', 'subscriptionid', 'invoiceid', 'eventid', 'visitid', 'websiteid', 'number'],
  email: ['mail', 'emailaddress', 'useremail', 'customeremail'],
  name: ['fullname', 'displayname', 'username', 'event', 'eventname', 'title'],
  status: ['state', 'tier'],
  country: ['countrycode'],
  createdAt: [
    'created',
    'createddate',
    'creationdate',
    'signup',
    'signupdate',
    'signedup',
    'registered',
    'joined',
    'date',
  ],
  deletedAt: ['deleted', 'removed'],
  plan: ['product', 'planname', 'price'],
  amount: ['price', 'unitamount', 'value', 'mrr'],
  currency: ['currencycode'],
  interval: ['period', 'billingperiod', 'billinginterval'],
  startedAt: ['start', 'started', 'startdate', 'created'],
  canceledAt: ['canceled', 'cancelled', 'cancelledat', 'canceldate'],
  endedAt: ['end', 'ended', 'enddate'],
  issuedAt: ['issued', 'date', 'invoicedate', 'created'],
  paidAt: ['paid', 'paiddate'],
  total: ['amount', 'amountdue', 'sum'],
  at: ['time', 'timestamp', 'date', 'datetime', 'occurredat', 'created'],
  page: ['path', 'url', 'pagepath'],
  referrer: ['referer', 'source'],
  visitorId: ['visitor', 'anonymousid', 'clientid'],
};

/** Guesses by the names: the same letters first, then words that other systems use. A member is given once. */
export function guessed(columns: Iterable<string>, members: readonly Member[]): Mapping {
  const left = new Set(columns);
  const mapping = new Map<string, string>();
  const take = (fits: (column: string, member: string) => boolean) => {
    for (const { name } of members) {
      if ([...mapping.values()].includes(name)) continue;
      const column = [...left].find((one) => fits(bare(one), name));
      if (column === undefined) continue;
      mapping.set(column, name);
      left.delete(column);
    }
  };
  take((column, member) => column === bare(member));
  take((column, member) => OTHER_WORDS[member]?.includes(column) ?? false);
  return mapping;
}

function bare(words: string): string {
  return words.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '');
}

/** The rows with the members that their columns become, texts of numbers as numbers. */
export function mappedRows(rows: readonly FileRow[], mapping: Mapping): readonly FileRow[] {
  const renamed = (row: ImportedRow) =>
    Object.fromEntries(
      Object.entries(row).flatMap(([column, value]) => {
        const member = mapping.get(column);
        return member === undefined || value === '' ? [] : [[member, typed(member, value)] as const];
      }),
    );
  return rows.map((one) => ('row' in one ? { ...one, row: renamed(one.row) } : one));
}
