import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { DuckDBInstance } from '@duckdb/node-api';
import { makeKey, mustCall } from '../support/calls.ts';
import { runFile, withFolder } from '../support/child.ts';
import { serverForTests } from '../support/server.ts';

const server = serverForTests();
interface ImportOptions {
  readonly key?: string;
  readonly options?: readonly string[];
}

async function importText(type: string, name: string, text: string, { key, options = [] }: ImportOptions = {}) {
  return withFolder(async (folder) => {
    const file = join(folder, name);
    writeFileSync(file, text);
    return importFile(type, file, { key: key ?? server.adminKey, options });
  });
}

async function importParquet(type: string, query: string) {
  return withFolder(async (folder) => {
    const file = join(folder, 'rows.parquet');
    const engine = await DuckDBInstance.create(':memory:');
    const connection = await engine.connect();
    await connection.run(`copy (${query}) to '${file}' (format parquet)`);
    connection.closeSync();
    engine.closeSync();
    return importFile(type, file, { key: server.adminKey, options: [] });
  });
}

function importFile(type: string, file: string, { key, options }: Required<ImportOptions>) {
  const env = { BASE_URL: server.baseUrl, API_KEY: key };
  return runFile('facade/commands/import.ts', { args: [type, file, ...options], env });
}

describe('npm run import', () => {
  it('takes CSV with quotes, line breaks in cells, a byte order mark and empty cells; again, nothing changes', async () => {
    const text =
      '\uFEFFuid,email,status,name,createdAt,deletedAt,paymentBrand,paymentLast4\r\nc1,c1@example.com,PRO,"Ada, ""the first""\nof her name",2026-01-01T10:00:00+02:00,,Visa,0042\r\nc2,c2@example.com,FREE,,2026-01-02,,,\r\n';
    const first = await importText('users', 'users.csv', text);
    assert.deepEqual(
      [first.code, first.stdout],
      [0, 'users: 2 new, 0 changed, 0 unchanged, 0 refused.\n'],
      first.stderr,
    );
    const again = await importText('users', 'users.csv', text);
    assert.equal(again.stdout, 'users: 0 new, 0 changed, 2 unchanged, 0 refused.\n');
    const user = await mustCall(server, server.adminKey, 'get_user', { userId: 'c1' });
    assert.deepEqual([user.name, user.createdAt], ['Ada, "the first"\nof her name', '2026-01-01T08:00:00.000Z']);
    const { paymentMethod } = await mustCall(server, server.adminKey, 'get_user_billing', { userId: 'c1' });
    assert.deepEqual(paymentMethod, { brand: 'Visa', last4: '0042' });
  });

  it('reports every bad line with its number and reason, takes the others and ends with 1', async () => {
    const good = (id: number) =>
      JSON.stringify({ id: `n${id}`, uid: 'u', name: 'opened', at: '2026-01-01T00:00:00Z', properties: { id } });
    const lines = [
      good(1),
      '{"id": 5',
      '',
      good(2),
      '{"id":"x","uid":"u","at":"2026-02-31","nmae":"a"}',
      '[1]',
      good(3),
    ];
    const { code, stdout, stderr } = await importText('events', 'events.ndjson', lines.join('\n'));
    assert.deepEqual([code, stdout], [1, 'events: 3 new, 0 changed, 0 unchanged, 3 refused.\n']);
    const [second, fifth, sixth, ...more] = stderr.trim().split('\n');
    assert.equal(second, 'line 2: not valid JSON');
    assert.match(fifth ?? '', /^line 5: .*name: .*at: Write a time.*did you mean "name"/);
    assert.equal(sixth, 'line 6: not a JSON object');
    assert.deepEqual(more, []);
  });

  it('refuses rows that do not have the form that a preset takes, and takes the others', async () => {
    const cycle = { interval: 'month', frequency: 1 };
    const item = { quantity: 1, price: { id: 'p', unit_price: { amount: '100' } } };
    const row = (items: unknown, more: object = {}) =>
      JSON.stringify({
        ...{ id: 's1', customer_id: 'c', items, billing_cycle: cycle, status: 'active', currency_code: 'EUR' },
        ...{ started_at: '2026-01-01T00:00:00Z', ...more },
      });
    const lines = [row([item]), row(null), row([item], { id: 's2', billing_cycle: null }), row([{}])];
    const options = ['--map', 'paddle-subscriptions'];
    const { code, stdout, stderr } = await importText('subscriptions', 's.ndjson', lines.join('\n'), { options });
    assert.deepEqual([code, stdout], [1, 'subscriptions: 1 new, 0 changed, 0 unchanged, 3 refused.\n'], stderr);
    assert.match(stderr, /^line 2: The row does not have the form that the preset takes: id, customer_id, items/m);
  });

  it('reads numbers and properties from CSV, and says which line has another number of cells', async () => {
    const text =
      'id,uid,total,tax,currency,status,issuedAt\ni1,u,1190,190,EUR,paid,2026-01-01\ni2,u,12.5,0,EUR,paid,2026-01-01\ni3,u\n';
    const { code, stdout, stderr } = await importText('invoices', 'invoices.csv', text);
    assert.deepEqual([code, stdout], [1, 'invoices: 1 new, 0 changed, 0 unchanged, 2 refused.\n']);
    assert.match(stderr, /^line 3: total: Give a whole number\.$/m);
    assert.match(stderr, /^line 4: Invalid Record Length/m);
  });

  it('sends more rows than a call takes in batches', async () => {
    const lines = Array.from({ length: 10_100 }, (_, at) =>
      JSON.stringify({ id: `v${at}`, visitorId: `w${at % 7}`, at: '2026-01-01T00:00:00Z', page: '/' }),
    );
    const { code, stdout } = await importText('visits', 'visits.ndjson', lines.join('\n'));
    assert.deepEqual([code, stdout], [0, 'visits: 10100 new, 0 changed, 0 unchanged, 0 refused.\n']);
  });

  it('reads Parquet as it reads the others: times, numbers and nested values, with the number of a row that does not fit', async () => {
    const { code, stdout, stderr } = await importParquet(
      'events',
      `select 'p' || n as id, 'u1' as uid, case when n = 3 then null else 'opened' end as name,
         timestamp '2026-01-01 10:00:00' + to_minutes(n) as at, {count: n, big: n::bigint} as properties
       from range(1, 6) as rows(n)`,
    );
    assert.deepEqual([code, stdout], [1, 'events: 4 new, 0 changed, 0 unchanged, 1 refused.\n'], stderr);
    assert.match(stderr, /^line 3: name: /m);
    const days = await importParquet(
      'users',
      "select 'u1' as uid, 'u1@example.com' as email, 'PRO' as status, timestamptz '2026-01-01 01:00:00+01' as createdAt",
    );
    assert.equal(days.stdout, 'users: 1 new, 0 changed, 0 unchanged, 0 refused.\n', days.stderr);
    const { createdAt } = await mustCall(server, server.adminKey, 'get_user', { userId: 'u1' });
    assert.equal(createdAt, '2026-01-01T00:00:00.000Z');
    const { data } = await mustCall(server, server.adminKey, 'get_user_timeline', { userId: 'u1' });
    const first = data.find(({ subjectId }: { subjectId: string }) => subjectId === 'p1');
    assert.deepEqual([first.at, first.properties], ['2026-01-01T10:01:00.000Z', { count: 1, big: 1 }]);
    const broken = await importText('users', 'users.parquet', 'PAR1 and no more');
    assert.deepEqual([broken.code, /cannot be read as Parquet/.test(broken.stderr)], [1, true]);
  });

  it('takes columns of other names, and leaves out those that no member has', async () => {
    const text = 'customer,mail,tier,joined,notes\nm1,m1@example.com,PRO,2026-01-01,x\n';
    const map = 'uid=customer, email=mail, status=tier, createdAt=joined';
    const { code, stdout, stderr } = await importText('users', 'users.csv', text, { options: ['--map', map] });
    assert.deepEqual([code, stdout], [0, 'users: 1 new, 0 changed, 0 unchanged, 0 refused.\n'], stderr);
    assert.equal((await mustCall(server, server.adminKey, 'get_user', { userId: 'm1' })).email, 'm1@example.com');
    for (const [wrong, said] of [
      ['uid=nobody', /has no column nobody; it has customer, mail/],
      ['uids=customer', /users have no uids; they have uid/],
      ['stripe', /neither member=column nor a preset: stripe-customers/],
      ['stripe-invoices', /The preset stripe-invoices makes invoices, not users/],
      ['stripe-customers', /has no column id, Email, Created/],
    ] as const) {
      const refused = await importText('users', 'users.csv', text, { options: ['--map', wrong] });
      assert.deepEqual([refused.code, refused.stdout], [1, ''], wrong);
      assert.match(refused.stderr, said);
    }
  });

  it('says with --dry-run what would change, and changes nothing', async () => {
    const line = JSON.stringify({ uid: 'd1', email: 'd1@example.com', status: 'PRO', createdAt: '2026-01-01' });
    const { stdout } = await importText('users', 'users.ndjson', `${line}\n{}`, { options: ['--dry-run'] });
    assert.equal(stdout, 'would be users: 1 new, 0 changed, 0 unchanged, 1 refused.\n');
    const { code } = await importText('users', 'users.ndjson', line);
    assert.equal(code, 0);
    const again = await importText('users', 'users.ndjson', line, { options: ['--dry-run'] });
    assert.equal(again.stdout, 'would be users: 0 new, 0 changed, 1 unchanged, 0 refused.\n');
  });

  it('says what is wrong with the call, the key or the address', async () => {
    const env = { BASE_URL: server.baseUrl, API_KEY: server.adminKey };
    const none = await runFile('facade/commands/import.ts', { env });
    assert.deepEqual([none.code, /Usage: npm run import/.test(none.stderr)], [2, true]);
    const type = await importText('user', 'users.csv', '');
    assert.match(type.stderr, /There is no type "user"/);
    const format = await importText('users', 'users.xls', '');
    assert.match(format.stderr, /neither .csv nor .ndjson/);
    const line = JSON.stringify({ uid: 'x', email: 'x@example.com', status: 'PRO', createdAt: '2026-01-01' });
    const reader = await importText('users', 'users.ndjson', line, {
      key: await makeKey(server, { scopes: ['read'] }),
    });
    assert.deepEqual([reader.code, /Insufficient permissions/.test(reader.stderr)], [1, true]);
    const absent = await runFile('facade/commands/import.ts', { args: ['users', 'absent.csv'], env });
    assert.match(absent.stderr, /There is no file absent\.csv/);
    const away = { BASE_URL: 'http://127.0.0.1:1', API_KEY: 'ak' };
    await withFolder(async (folder) => {
      const file = join(folder, 'users.ndjson');
      writeFileSync(file, line);
      const { stderr } = await runFile('facade/commands/import.ts', { args: ['users', file], env: away });
      assert.match(stderr, /No server answers at/);
    });
  });
});
