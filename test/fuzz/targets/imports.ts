import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { columnsFor } from '../../../facade/commands/import/columns.ts';
import { readRows } from '../../../facade/commands/import/file.ts';
import { rowsOf } from '../../../facade/dashboard/pages/import/rows.ts';
import { importedRows, rowType } from '../../../resources/imported-rows.ts';
import { OperatorError } from '../../../store/errors.ts';
import { checkRow } from '../../../tools/analytics/import-records.ts';
import { openTestRegistry, principalOf, type TestRegistry } from '../../support/registry.ts';
import { bytesOf, headAndRest, type Target } from '../target.ts';

const PARQUET = Buffer.from(
  'UEFSMRUAFRgVGCwVAhUAFQYVBgAAAgAAAAIBAgAAAHAxFQAVGBUYLBUCFQAVBhUGAAACAAAAAgECAAAAdTEVABUWFRYsFQIVABUGFQYAAAIAAAACAQEAAABuFQAVHBUcLBUCFQAVBhUGAAACAAAAAgEAQCBGSEcGABUAFRQVFCwVAhUAFQYVBgAAAgAAAAICAQAAABUCGXw1ABgNZHVja2RiX3NjaGVtYRUKABUMJQIYAmlkJQAAFQwlAhgDdWlkJQAAFQwlAhgEbmFtZSUAABUEJQIYAmF0JRRMjBIcLAAAAAAANQIYCnByb3BlcnRpZXMVAgAVAiUCGAFjJSIAFgIZHBlcJgAcFQwZFQAZGAJpZBUAFgIWOhY6Jgg8GAJwMRgCcDEWACgCcDEYAnAxEREAAAAmABwVDBkVABkYA3VpZBUAFgIWOhY6JkI8GAJ1MRgCdTEWACgCdTEYAnUxEREAAAAmABwVDBkVABkYBG5hbWUVABYCFjgWOCZ8PBgBbhgBbhYAKAFuGAFuEREAAAAmABwVBBkVABkYAmF0FQAWAhY+Fj4mtAE8GAgAQCBGSEcGABgIAEAgRkhHBgAWACgIAEAgRkhHBgAYCABAIEZIRwYAEREAAAAmABwVAhkVABkoCnByb3BlcnRpZXMBYxUAFgIWNhY2JvIBPBgEAQAAABgEAQAAABYAKAQBAAAAGAQBAAAAEREAAAAWoAIWAiYIFqACACgoRHVja0RCIHZlcnNpb24gdjEuNS41IChidWlsZCBkOGNkYWEzM2ZkKRlcHAAAHAAAHAAAHAAAHAAAAM4BAABQQVIx',
  'base64',
).toString('latin1');
const admin = principalOf({ type: 'api-key', id: 'key_fuzz', scopes: ['admin'] });
/** Of a file, so many rows go into the store. */
const MOST_SENT = 5;

/** Files of rows: the first line of an input says which format, type and columns. */
export const imports: Target = {
  about: 'CSV, NDJSON and Parquet files of imported rows',
  sources: [
    'facade/import',
    'facade/commands/import',
    'resources/imported-rows.ts',
    'tools/analytics/import-records.ts',
  ],
  packages: ['csv-parse'],
  seeds: [
    'csv users\nuid,email,status,name,createdAt,deletedAt,paymentBrand,paymentLast4\nc1,c1@example.com,PRO,"Ada, ""x""\nb",2026-01-01T10:00:00+02:00,,Visa,0042\r\n',
    bytesOf(
      'csv users uid=customer,email=mail\n\uFEFFcustomer,mail,status,createdAt\nä,b@example.com,FREE,2026-01-01\n',
    ),
    'csv invoices\nid,uid,total,tax,currency,status,issuedAt\ni1,u,1190,190,EUR,paid,2026-01-01\n',
    'csv users stripe-customers\nid,Email,Name,Created (UTC),Status,Plan\ncus_1,a@example.com,A,2026-01-01 10:00,active,Team\n',
    'csv subscriptions stripe-subscriptions\nid,Customer ID,Plan,Amount,Currency,Interval,Status,Start Date (UTC)\nsub_1,cus_1,Team,"1,200.50",jpy,month,past_due,2026-01-01 10:00:00\n',
    'csv invoices stripe-invoices\nid,Customer,Total,Currency,Status,Date (UTC),Tax\nin_1,cus_1,12.5,kwd,void,2026-01-01 10:00,\n',
    `csv visits plausible-events\nname,user_id,session_id,timestamp,pathname,referrer\npageview,1,2,2026-01-01 10:00:00,/,\n`,
    `csv events plausible-goals\nname,user_id,session_id,timestamp,pathname,meta.key,meta.value\nSignup,1,2,2026-01-01 10:00:00,/,"['plan']","['a\\'b']"\n`,
    `ndjson subscriptions paddle-subscriptions\n${JSON.stringify({ id: 's', customer_id: 'c', items: [{ quantity: 1, price: { id: 'p', unit_price: { amount: '100' } } }], billing_cycle: { interval: 'month', frequency: 1 }, status: 'active', currency_code: 'EUR', started_at: '2026-01-01T00:00:00Z' })}`,
    'ndjson events\n{"id":"n1","uid":"u","name":"a","at":"2026-01-01T00:00:00Z","properties":{"a":1}}\n\n[1]\n',
    'ndjson subscriptions\n{"id":"s","uid":"u","plan":"p","amount":1,"currency":"EUR","interval":"month","status":"trialing","startedAt":"0001-01-01","endedAt":"9999-12-31","trialStart":"2026-02-28","discountPercent":99.5}',
    bytesOf('ndjson visits\n{"id":"v","visitorId":"w","at":"2026-01-01T23:59:60Z","page":"/\\u0000\\ud800 ä"}'),
    `parquet events\n${PARQUET}`,
  ],
  async open() {
    const folder = mkdtempSync(join(tmpdir(), 'agent-admin-fuzzed-'));
    const registry = await openTestRegistry();
    return {
      run: (input) => judge(input, folder, registry),
      async close() {
        await registry.close();
        rmSync(folder, { recursive: true, force: true });
      },
    };
  },
};

async function judge(input: Buffer, folder: string, registry: TestRegistry): Promise<void> {
  const { head, rest } = headAndRest(input);
  const [format = '', named = '', ...map] = head.split(' ');
  const type = rowType.safeParse(named).data ?? 'events';
  const file = join(folder, `rows.${/^(ndjson|parquet)$/.test(format) ? format : 'csv'}`);
  writeFileSync(file, rest);
  const rows: Readonly<Record<string, unknown>>[] = [];
  let lines = 0;
  try {
    const columns = columnsFor(type, map.length > 0 ? map.join(' ') : undefined);
    for await (const read of readRows(file)) {
      lines += 1;
      assert.ok(read.line >= 0 && read.bytes >= 0);
      const mapped = 'problem' in read ? read : columns(read.row);
      if ('leftOut' in mapped) assert.equal(typeof mapped.leftOut, 'string');
      else if ('problem' in mapped) assert.notEqual(mapped.problem, '');
      else {
        const checked = checkRow(type, mapped.row);
        if ('row' in checked) rows.push(checked.row);
        else assert.ok(checked.issues.length > 0 && checked.issues.every(({ message }) => message !== ''));
      }
    }
  } catch (error) {
    assert.ok(error instanceof OperatorError, error instanceof Error ? error.stack : String(error));
    return;
  }
  // A lone carriage return ends a line for the command alone.
  if (format !== 'parquet' && rest.length < 1000 && !/\r(?!\n)/.test(rest.toString('latin1')))
    await requireAlike(file, rest, lines);
  const records = rows.slice(0, MOST_SENT);
  const keys = new Set(records.map((row) => row[importedRows[type].key]));
  if (records.length === 0 || keys.size < records.length) return;
  const answer = await registry.call(admin, 'import_records', { type, records });
  assert.ok('output' in answer, JSON.stringify(answer));
  const again = await registry.must(admin, 'import_records', { type, records });
  assert.equal(again.unchanged, records.length, JSON.stringify(again));
}

/** The page of the dashboard reads as many lines of the file as the command does. */
async function requireAlike(path: string, bytes: Buffer, lines: number): Promise<void> {
  const rows = await rowsOf(new File([bytes], path));
  assert.equal(rows.length, lines);
}
