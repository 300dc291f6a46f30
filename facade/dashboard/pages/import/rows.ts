import { parseJson } from '../../../../resources/json.ts';
import { missingColumns, type Preset, presets, rowBy } from '../../../commands/import/presets.ts';
import { labelOf } from '../../format.ts';

/** Members of imported rows that are numbers, over all types. Cells of a CSV file are texts. */
export const NUMBER_MEMBERS: ReadonlySet<string> = new Set([
  'amount',
  'intervalCount',
  'quantity',
  'discountPercent',
  'discountAmount',
  'total',
  'tax',
]);

export type ImportedRow = Readonly<Record<string, unknown>>;

/** A row of a file with its line, or why the line is none. */
export type FileRow = { readonly line: number } & ({ readonly row: ImportedRow } | { readonly problem: string });

/** The rows of a CSV or NDJSON file. @throws Error that says why the file cannot be read */
export async function rowsOf(file: File): Promise<readonly FileRow[]> {
  const text = (await file.text()).replace(/^\uFEFF/, '');
  if (/\.(ndjson|jsonl)$/i.test(file.name)) return text.split(/\r?\n/).flatMap(jsonRow);
  if (/\.csv$/i.test(file.name)) return csvRows(text);
  throw new Error(`${file.name} is neither a .csv nor an .ndjson file.`);
}

function jsonRow(text: string, index: number): FileRow[] {
  if (text.trim() === '') return [];
  const line = index + 1;
  const row = parseJson(text);
  if (typeof row === 'object' && row !== null && !Array.isArray(row)) return [{ line, row: { ...row } }];
  return [{ line, problem: 'The line is not a JSON object.' }];
}

/** The parser is loaded when the first file is read. */
async function csvRows(text: string): Promise<FileRow[]> {
  const { parse, CsvError } = await import('csv-parse/browser/esm/sync');
  const rows: FileRow[] = [];
  const refuse = (error: { readonly lines?: number; readonly message: string }) => {
    rows.push({ line: error.lines ?? 0, problem: error.message });
    return undefined;
  };
  try {
    parse(text, {
      columns: true,
      skip_empty_lines: true,
      skip_records_with_error: true,
      on_record: (row: ImportedRow, { lines }) => void rows.push({ line: lines, row }),
      on_skip: (error) => (error ? refuse(error) : undefined),
    });
  } catch (error) {
    // The file ends within a quote: what stands before it is whole.
    if (!(error instanceof CsvError)) throw error;
    refuse(error);
  }
  return rows;
}

/** The value of a member out of a cell, which is a text. */
function typed(member: string, value: unknown): unknown {
  if (typeof value !== 'string') return value;
  if (NUMBER_MEMBERS.has(member) && /^-?\d+(\.\d+)?$/.test(value.trim())) return Number(value);
  return member === 'properties' ? (parseJson(value) ?? value) : value;
}

export type Member = Readonly<{ name: string; needed: boolean }>;

/** As people call it. */
export function memberLabel(name: string): string {
  return LABELS[name] ?? labelOf(name);
}

const LABELS: Readonly<Record<string, string>> = {
  uid: 'User ID',
  subscriptionId: 'Subscription ID',
  visitorId: 'Visitor ID',
  at: 'Time',
  paymentBrand: 'Payment method',
  paymentLast4: 'Last four digits',
  os: 'Operating system',
};

/** The values that some members can have, by type and member. */
export const CHOICES: Readonly<Record<string, readonly string[]>> = {
  'users.status': ['PRO', 'FREE', 'LEGACY'],
  'subscriptions.interval': ['day', 'week', 'month', 'year'],
  'subscriptions.status': ['trialing', 'active', 'past_due', 'canceled'],
  'invoices.status': ['paid', 'open', 'void', 'refunded'],
  'websites.state': ['draft', 'published', 'suspended', 'deleted'],
};

/** Values that all rows get, by member. */
export type Fixed = ReadonlyMap<string, string>;

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

const NONE: Fixed = new Map();

export function mappedRows(rows: readonly FileRow[], mapping: Mapping, fixed = NONE): readonly FileRow[] {
  const same = Object.fromEntries([...fixed].map(([member, value]) => [member, typed(member, value)]));
  const renamed = (row: ImportedRow) =>
    Object.fromEntries(
      Object.entries(row).flatMap(([column, value]) => {
        const member = mapping.get(column);
        return member === undefined || value === '' ? [] : [[member, typed(member, value)] as const];
      }),
    );
  return rows.map((one) => ('row' in one ? { ...one, row: { ...same, ...renamed(one.row) } } : one));
}

/** The rows of a file as a preset makes them, and how many it leaves out for which reason. */
export type PresetRows = Readonly<{ rows: readonly FileRow[]; leftOut: ReadonlyMap<string, number> }>;

export function fittingPresets(rows: readonly FileRow[]): { readonly fitting: string[]; readonly others: string[] } {
  const names = Object.keys(presets);
  const fitting = names.filter((name) => lacksOf(name, rows).length === 0);
  return { fitting, others: names.filter((name) => !fitting.includes(name)) };
}

export function lacksOf(name: string, rows: readonly FileRow[]): readonly string[] {
  const preset = presets[name];
  const first = rows.find((one) => 'row' in one);
  return preset ? missingColumns(preset, first && 'row' in first ? first.row : {}) : [];
}

export function presetRows(preset: Preset, rows: readonly FileRow[]): PresetRows {
  const leftOut = new Map<string, number>();
  const made = rows.flatMap((one): FileRow[] => {
    if ('problem' in one) return [one];
    const mapped = rowBy(preset, one.row);
    if ('row' in mapped) return [{ line: one.line, row: mapped.row }];
    if ('problem' in mapped) return [{ line: one.line, problem: mapped.problem }];
    leftOut.set(mapped.leftOut, (leftOut.get(mapped.leftOut) ?? 0) + 1);
    return [];
  });
  return { rows: made, leftOut };
}
