import { setImmediate } from 'node:timers/promises';
import { z } from 'zod';
import type { Issue } from '../../resources/error.ts';
import { importedRows, type RowType, rowType, TIME_MEMBERS } from '../../resources/imported-rows.ts';
import { secret } from '../../resources/markers.ts';
import { ToolError } from '../core/errors.ts';
import { defineTool, type Fail, UPDATES } from '../core/registry/define-tool.ts';
import { parseInput } from '../core/registry/validate.ts';

export const importRecords = defineTool({
  name: 'import_records',
  title: 'Import records',
  description:
    'Load rows of product data (users, subscriptions, invoices, events, visits, websites) for user lookup and analytics. A row with a known key replaces it; repeats change nothing. All rows of a call or none. Returns how many were new, changed, unchanged.',
  keywords:
    'load customers from Stripe, upload a CSV, Parquet, sync product data, ingest, bring in subscriptions and invoices, migrate data, ETL, load Stripe data, import customers, upload a CSV of subscriptions, import analytics events',
  access: { scope: 'admin', grant: 'user:import' },
  annotations: UPDATES,
  bulk: true,
  input: z.strictObject({
    type: rowType,
    // Audit entries hold no rows, because personal data in them could not be purged with the person.
    records: secret(
      z
        .array(z.record(z.string(), z.unknown()))
        .min(1)
        .max(10_000)
        .describe(
          `Rows of the type. Members (? optional): ${describeRows()}. Amounts are integers in minor units, times ISO 8601.`,
        ),
    ),
    dryRun: z.boolean().default(false).describe('Says what the rows would change, and imports none.'),
  }),
  output: z.object({
    type: rowType,
    received: z.int(),
    created: z.int().describe('Rows with a key that was not known.'),
    updated: z.int().describe('Rows that changed what was known under their key.'),
    unchanged: z.int(),
  }),
  errors: [],

  async stage({ type, records }, { server, fail }) {
    const rows = await checkedRows(type, records, fail);
    return server.rows.stage({ type, rows, at: server.now().toISOString() });
  },

  async handler({ type, records, dryRun }, { store }, staged) {
    if (!dryRun) store.rows.commit(staged);
    const { created, updated, unchanged } = staged;
    return { type, received: records.length, created, updated, unchanged };
  },
});

type Row = Readonly<Record<string, unknown>>;

/** Rows that are looked at before other calls run. */
const AT_ONCE = 50;
/** At most this many problems of a row are named. */
export const MOST_OF_A_ROW = 10;

/** The rows in the form in which they are stored. @throws ToolError that names the problems of every row */
async function checkedRows(type: RowType, records: readonly Row[], fail: Fail<never>): Promise<Row[]> {
  const issues: Issue[] = [];
  const rows: Row[] = [];
  for (const [index, record] of records.entries()) {
    if (index % AT_ONCE === AT_ONCE - 1) await setImmediate();
    const checked = checkRow(type, record);
    if ('row' in checked) rows.push(checked.row);
    else {
      const place = `records[${index}]`;
      issues.push(...checked.issues.map(({ path, message }) => ({ path: `${place}${path && `.${path}`}`, message })));
    }
  }
  if (issues[0]) {
    const bad = records.length - rows.length;
    const message = `${bad} of ${records.length} rows do not fit, so none was imported: ${issues[0].path}: ${issues[0].message}`;
    throw fail('invalid_input', message, { issues });
  }
  return rows;
}

/** The row in the form in which it is stored, or what is wrong with it. */
export function checkRow(type: RowType, record: Row): { readonly row: Row } | { readonly issues: readonly Issue[] } {
  try {
    return { row: withInstants(parseInput(importedRows[type].schema, record, { mostIssues: MOST_OF_A_ROW })) };
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    return { issues: error.detail.issues ?? [] };
  }
}

/** Writes times in UTC, so that equal times are equal texts. */
function withInstants(row: Row): Row {
  const entries = Object.entries(row).filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    entries.map(([name, value]) => [name, TIME_MEMBERS.has(name) ? new Date(String(value)).toISOString() : value]),
  );
}

function describeRows(): string {
  return Object.entries(importedRows)
    .map(([type, { schema }]) => {
      const members = Object.entries(schema.shape).map(([name, member]) => (member.isOptional() ? `${name}?` : name));
      return `${type} {${members.join(', ')}}`;
    })
    .join('; ');
}
