import { csvOf } from '../../resources/csv.ts';
import type { Picture } from './report-picture.ts';

type Row = Readonly<Record<string, unknown>>;

export const REPORT_FORMATS = ['csv', 'markdown', 'png'] as const;
export type ReportFormat = (typeof REPORT_FORMATS)[number];

interface Rendered {
  readonly title: string;
  readonly asOf: string;
  readonly result: Row;
}

/** A report with its numbers as a file of text. */
export function reportFile({ title, asOf, result }: Rendered, format: Exclude<ReportFormat, 'png'>) {
  const rows = rowsIn(result);
  if (format === 'csv') return { extension: 'csv', contentType: 'text/csv; charset=utf-8', text: csvOf(rows) };
  const text = `# ${inline(title)}\n\nAs of ${asOf}.\n\n${tableOf(rows)}`;
  return { extension: 'md', contentType: 'text/markdown; charset=utf-8', text };
}

/** The rows of an answer: its first list, or else its totals or plain members as one row. */
function rowsIn(result: Row): readonly Row[] {
  const list = ['series', 'rows', 'data']
    .map((name) => result[name])
    .find((one) => Array.isArray(one) && one.length > 0);
  if (list) return (list as readonly Row[]).map(flat); // lists of the tools hold objects
  if (isRow(result.totals)) return [result.totals];
  const plain = Object.entries(result).filter(([, value]) => typeof value !== 'object');
  return [Object.fromEntries(plain)];
}

/** Of a row of a database what people filled in. */
function flat(row: Row): Row {
  return isRow(row.values) ? row.values : row;
}

function isRow(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function tableOf(rows: readonly Row[]): string {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  if (names.length === 0) return 'Nothing.\n';
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const body = rows.map((row) => line(names.map((name) => inline(row[name]))));
  return `${[line(names.map(inline)), line(names.map(() => '---')), ...body].join('\n')}\n`;
}

/** The rows in columns, as programs print them. */
export function columnsOf(result: Row): string {
  const rows = rowsIn(result);
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const cells = [names, ...rows.map((row) => names.map((name) => cut(plain(row[name]))))];
  const widths = names.map((_, column) => Math.max(...cells.map((line) => line[column]?.length ?? 0)));
  return cells
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** As long as a cell is in a text: one long value would make each line as long. */
const LONGEST_CELL = 60;

function cut(cell: string): string {
  return cell.length > LONGEST_CELL ? `${cell.slice(0, LONGEST_CELL - 1).toWellFormed()}…` : cell;
}

/** A value on one line that ends no block of code. */
function plain(value: unknown): string {
  if (value === null || value === undefined) return '';
  return (typeof value === 'object' ? JSON.stringify(value) : String(value)).replace(/\s+/g, ' ').replaceAll('`', "'");
}

/** A value in one cell: nothing of it is Markdown. */
function inline(value: unknown): string {
  return plain(value).replace(/[\\`*_{}[\]<>()#+!|~-]/g, '\\$&');
}

/** As many as there are colours. */
const MOST_LINES = 5;
/** Lines of one picture have one scale. */
const MOST_TIMES_LARGER = 20;

/** What a picture of the report shows: its numbers by the first text in each row, a date or a name. Undefined if there are none. */
export function pictureOf({
  title,
  asOf,
  result,
  visualization,
}: Rendered & { readonly visualization: string }): Picture | undefined {
  const rows = rowsIn(result);
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const label = names.find((name) => rows.some((row) => typeof row[name] === 'string'));
  const numbers = names.filter((name) => name !== 'revision' && rows.some((row) => typeof row[name] === 'number'));
  const sizeOf = (name: string) => rows.reduce((most, row) => Math.max(most, Math.abs(Number(row[name]) || 0)), 0);
  const main = preferred(numbers) ?? numbers.toSorted((one, other) => sizeOf(other) - sizeOf(one))[0];
  if (main === undefined) return undefined;
  const isAlike = (name: string) => {
    const times = sizeOf(name) / (sizeOf(main) || 1);
    return name === main || (times <= MOST_TIMES_LARGER && times >= 1 / MOST_TIMES_LARGER);
  };
  const drawn = [main, ...numbers.filter((name) => name !== main && isAlike(name))].slice(0, MOST_LINES);
  return {
    title,
    asOf,
    bars: visualization !== 'line',
    labels: rows.map((row, index) => (label === undefined ? `${index + 1}` : String(row[label]))),
    leftOut: numbers.filter((name) => !drawn.includes(name)).map(inWords),
    series: drawn.map((name) => ({
      label: inWords(name),
      values: rows.map((row) => (typeof row[name] === 'number' ? row[name] : null)),
    })),
  };
}

/** The numbers that reports of metrics are about, where they are among several. */
const ABOUT = ['mrr', 'customerChurn', 'ltv', 'active', 'mau', 'visitors', 'cost', 'users'];

function preferred(names: readonly string[]): string | undefined {
  return ABOUT.find((name) => names.includes(name));
}

/** `payingCustomers` as `Paying customers`. */
function inWords(member: string): string {
  const words = member.replace(/([a-z\d])([A-Z])/g, '$1 $2').toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}
