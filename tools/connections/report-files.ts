import { csvOf } from '../../resources/csv.ts';

type Row = Readonly<Record<string, unknown>>;

export const REPORT_FORMATS = ['csv', 'markdown'] as const;
export type ReportFormat = (typeof REPORT_FORMATS)[number];

interface Rendered {
  readonly title: string;
  readonly asOf: string;
  readonly result: Row;
}

/** A report with its numbers as a file. */
export function reportFile({ title, asOf, result }: Rendered, format: ReportFormat) {
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
  if (list) return list as readonly Row[]; // lists of the tools hold objects
  if (isRow(result.totals)) return [result.totals];
  const plain = Object.entries(result).filter(([, value]) => typeof value !== 'object');
  return [Object.fromEntries(plain)];
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

/** A value in one cell: nothing of it is Markdown. */
function inline(value: unknown): string {
  if (value === null || value === undefined) return '';
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
  return text.replace(/\s+/g, ' ').replace(/[\\`*_{}[\]<>()#+!|~-]/g, '\\$&');
}
