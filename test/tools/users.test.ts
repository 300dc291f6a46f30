import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { callsOf, makeKey, rest } from '../support/calls.ts';
import { rounds } from '../support/full.ts';
import { pluck } from '../support/pluck.ts';
import { fc } from '../support/property.ts';
import { startTestServer } from '../support/server.ts';

const put = (type: string, records: readonly object[]) => must('import_records', { type, records });
const server = await startTestServer();
const { must, codeOf, refused } = callsOf(server);
await must('update_settings', { currency: 'EUR' });

const people = Array.from({ length: 60 }, (_, at) => ({
  uid: `user-${at}`,
  email: `${['ann', 'bob', 'cyd'][at % 3]}${at}@${at % 2 ? 'acme' : 'umbrella'}.example`,
  status: ['PRO', 'FREE', 'LEGACY'][at % 3],
  ...(at % 4 === 0 && { name: `Äda Number ${at}` }),
  createdAt: new Date(Date.UTC(2026, 0, 1 + (at % 20))).toISOString(),
  ...(at % 7 === 6 && { deletedAt: '2026-02-01T00:00:00.000Z' }),
}));

describe('list_users', () => {
  before(() => put('users', people));

  it('pages through what a naive filter finds, newest first, with the total', async () => {
    const search = fc.constantFrom(
      undefined,
      'a',
      'ÄDA',
      'user-1',
      'ACME.EX',
      'number 8',
      'r-59',
      '9',
      'zzz',
      'ann1',
      '@',
    );
    const status = fc.constantFrom(undefined, 'PRO', 'FREE', 'LEGACY');
    await fc.assert(
      fc.asyncProperty(
        search,
        status,
        fc.integer({ min: 1, max: 25 }),
        fc.boolean(),
        async (text, wanted, limit, all) => {
          const expected = people
            .filter((one) => all || one.deletedAt === undefined)
            .filter((one) => wanted === undefined || one.status === wanted)
            .filter((one) =>
              [one.uid, one.email, one.name ?? ''].some((part) =>
                part.toLowerCase().includes((text ?? '').toLowerCase()),
              ),
            )
            .sort((a, b) =>
              a.createdAt === b.createdAt ? (a.uid < b.uid ? 1 : -1) : a.createdAt < b.createdAt ? 1 : -1,
            );
          const filters = {
            ...(text && { search: text }),
            ...(wanted && { status: wanted }),
            ...(all && { includeDeleted: all }),
          };
          const found: string[] = [];
          let cursor: string | null = null;
          do {
            const page: { data: { uid: string }[]; nextCursor: string | null; total: number } = await must(
              'list_users',
              {
                ...filters,
                limit,
                includeTotal: true,
                ...(cursor && { cursor }),
              },
            );
            assert.equal(page.total, expected.length);
            found.push(...page.data.map(({ uid }) => uid));
            cursor = page.nextCursor;
          } while (cursor);
          assert.deepEqual(
            found,
            expected.map(({ uid }) => uid),
          );
        },
      ),
      { numRuns: rounds(15, 60) },
    );
  });

  it('sorts by e-mail without case, and by time, page by page, where several have the same', async () => {
    const some = ['B@x.example', 'a@x.example', 'É@x.example', 'a@x.example', 'b@x.example', '😀', 'c\nd', 'A'].map(
      (email, at) => ({ uid: `sorted-${at}`, email, status: 'FREE', createdAt: `2025-01-0${1 + (at % 3)}` }),
    );
    await put('users', some);
    const walk = async (sort: string) => {
      const found: string[] = [];
      for (let cursor: string | null | undefined; cursor !== null; ) {
        const page = await must('list_users', { search: 'sorted-', sort, limit: 3, ...(cursor && { cursor }) });
        found.push(...page.data.map(({ uid }: { uid: string }) => uid.replace('sorted-', '')));
        cursor = page.nextCursor;
      }
      return found.join('');
    };
    assert.equal(await walk('email'), '71304625');
    assert.equal(await walk('-email'), '52640317');
    assert.equal(await walk('createdAt'), '03614725');
    assert.equal(await walk('-createdAt'), '52741630');
    const { nextCursor } = await must('list_users', { search: 'sorted-', sort: 'email', limit: 3 });
    for (const sort of ['-email', 'createdAt', '-createdAt'])
      assert.equal(
        await codeOf('list_users', { search: 'sorted-', sort, limit: 3, cursor: nextCursor }),
        'invalid_input',
      );
    assert.equal(await codeOf('list_users', { search: 'sorted-', limit: 3, cursor: nextCursor }), 'invalid_input');
  });

  it('goes on after an e-mail of any length and characters', async () => {
    const email = '\u0001'.repeat(320);
    await put(
      'users',
      ['long-1', 'long-2', 'long-3'].map((uid) => ({ uid, email, status: 'FREE', createdAt: '2025-01-01' })),
    );
    for (const [sort, expected] of Object.entries({ email: ['long-1', 'long-2'], '-email': ['long-3', 'long-2'] })) {
      const query = { search: 'long-', sort, limit: 1 };
      const first = await must('list_users', query);
      const second = await must('list_users', { ...query, cursor: first.nextCursor });
      assert.deepEqual([first.data[0].uid, second.data[0].uid], expected);
    }
  });

  it('shows a changed user as it is now, under its new words only', async () => {
    const changed = { uid: 'mover', email: 'before@example.com', status: 'FREE', createdAt: '2026-02-01' };
    await put('users', [changed]);
    const answer = await put('users', [{ ...changed, email: 'afterwards@example.com', status: 'PRO' }]);
    assert.deepEqual([answer.created, answer.updated, answer.unchanged], [0, 1, 0]);
    assert.deepEqual((await must('list_users', { search: 'before@' })).data, []);
    assert.equal((await must('list_users', { search: 'afterwards@', status: 'PRO' })).data.length, 1);
    assert.equal((await must('list_users', { search: 'mover', status: 'FREE' })).data.length, 0);
  });

  it('leaves out the deleted unless asked for them, as search does; they can be read', async () => {
    const gone = { uid: 'gone-1', email: 'gone@example.com', status: 'PRO', createdAt: '2026-02-02' };
    await put('users', [gone]);
    const { total } = await must('list_users', { includeTotal: true, limit: 1 });
    await put('users', [{ ...gone, deletedAt: '2026-02-03' }]);
    assert.equal((await must('list_users', { includeTotal: true, limit: 1 })).total, total - 1);
    const query = async (text: string) =>
      (await rest(server, 'GET', `/api/v1/users?search=gone-1${text}`, { key: server.adminKey })).body.data;
    assert.deepEqual([(await query('')).length, (await query('&includeDeleted=true')).length], [0, 1]);
    assert.deepEqual((await must('search', { q: 'gone-1', types: ['user'] })).data, []);
    assert.equal((await must('get_user', { userId: 'gone-1' })).uid, 'gone-1');
  });

  it('refuses a cursor of other filters and an unknown status', async () => {
    const { nextCursor } = await must('list_users', { limit: 1 });
    const query = `?limit=1&search=a&cursor=${nextCursor}`;
    assert.equal((await rest(server, 'GET', `/api/v1/users${query}`, { key: server.adminKey })).status, 400);
    assert.equal((await rest(server, 'GET', '/api/v1/users?status=pro', { key: server.adminKey })).status, 400);
    assert.equal((await rest(server, 'GET', '/api/v1/users/none', { key: server.adminKey })).status, 404);
  });
});

describe('import_records', () => {
  it('names every bad row and imports none of the call', async () => {
    const good = { id: 'i1', uid: 'u', total: 100, tax: 0, currency: 'EUR', status: 'paid', issuedAt: '2026-01-01' };
    const records = [good, { ...good, id: 'i2', total: 1.5, curency: 'EUR' }, { ...good, id: '', status: 'done' }];
    const answer = await refused('import_records', { type: 'invoices', records });
    const paths = answer.issues?.map(({ path }) => path).sort();
    assert.deepEqual(paths, ['records[1].curency', 'records[1].total', 'records[2].id', 'records[2].status']);
    assert.equal((await put('invoices', [good])).created, 1);
    const wild = Object.fromEntries(Array.from({ length: 90 }, (_, at) => [`member${at}`, at]));
    const many = await refused('import_records', { type: 'invoices', records: [wild, wild] });
    assert.equal(many.issues?.length, 20, 'ten of each row');
  });

  it('is refused to a key without its right, and counts concurrent repeats once', async () => {
    const reader = await makeKey(server, { scopes: ['write'] });
    assert.equal(await codeOf('import_records', { type: 'users', records: [{}] }, reader), 'forbidden');
    const records = Array.from({ length: 50 }, (_, at) => ({
      id: `same-${at}`,
      uid: 'u',
      name: 'x',
      at: '2026-01-01',
    }));
    const answers = await Promise.all([1, 2, 3, 4].map(() => put('events', records)));
    assert.equal(
      answers.reduce((sum, { created }) => sum + created, 0),
      50,
    );
    assert.equal(
      answers.reduce((sum, { unchanged }) => sum + unchanged, 0),
      150,
    );
  });
});

describe('a name whose accents are written in two ways', () => {
  it('is found by either', async () => {
    const [composed, apart] = ['Zoë Brontë'.normalize('NFC'), 'Zoë Brontë'.normalize('NFD')];
    const row = { status: 'FREE', email: 'z@example.com', createdAt: '2026-01-01' };
    await put(
      'users',
      [composed, apart].map((name, at) => ({ ...row, uid: `zoe${at}`, name })),
    );
    for (const search of [composed, apart]) {
      const { data } = await must('list_users', { search });
      assert.deepEqual(pluck(data, 'uid').sort(), ['zoe0', 'zoe1']);
    }
  });
});

describe('one user', () => {
  before(async () => {
    await put('users', [{ uid: 'p', email: 'p@example.com', status: 'PRO', createdAt: '2026-01-31T12:00:00Z' }]);
    const terms = { id: 'ps', uid: 'p', plan: 'pro', currency: 'EUR', interval: 'month', status: 'active' };
    await put('subscriptions', [
      { ...terms, amount: 1000, startedAt: '2026-01-31T12:00:00Z' },
      { ...terms, amount: 2000, startedAt: '2026-01-31T12:00:00Z', effectiveAt: '2026-03-01' },
    ]);
    const invoice = { uid: 'p', subscriptionId: 'ps', currency: 'EUR', tax: 190, total: 1190 };
    await put('invoices', [
      { ...invoice, id: 'p1', status: 'paid', issuedAt: '2026-01-31', paidAt: '2026-02-01' },
      { ...invoice, id: 'p2', status: 'open', issuedAt: '2026-02-28' },
      { ...invoice, id: 'p3', status: 'paid', total: 500, tax: 0, currency: 'JPY', issuedAt: '2026-03-01' },
    ]);
    await put('websites', [
      {
        id: 'w',
        uid: 'p',
        url: 'https://p.example',
        name: 'P',
        state: 'suspended',
        createdAt: '2026-02-02',
        publishedAt: '2026-02-03',
        effectiveAt: '2026-02-10',
      },
    ]);
    await put(
      'events',
      Array.from({ length: 30 }, (_, at) => ({
        id: `pe${at}`,
        uid: 'p',
        name: 'opened',
        at: '2026-02-05T00:00:00Z',
        properties: { at },
      })),
    );
  });

  it('pays what its subscriptions and invoices say', async () => {
    const billing = await must('get_user_billing', { userId: 'p' });
    const { plan, status, mrr, lifetimeValue, interval, cancelAt, trialEndsAt, invoices, currentPeriodEnd } = billing;
    assert.deepEqual(
      [plan, status, mrr, lifetimeValue, interval, cancelAt, trialEndsAt],
      ['pro', 'active', 20, 10, 'month', null, null],
    );
    assert.deepEqual(pluck(invoices, 'id', 'total', 'tax'), [
      ['p3', 500, 0],
      ['p2', 11.9, 1.9],
      ['p1', 11.9, 1.9],
    ]);
    const end = new Date(currentPeriodEnd);
    const lastDay = new Date(Date.UTC(end.getUTCFullYear(), end.getUTCMonth() + 1, 0)).getUTCDate();
    assert.equal(end.getUTCDate(), Math.min(31, lastDay));
    assert.ok(end.getTime() > Date.now() && end.getTime() - Date.now() < 32 * 86_400_000);
  });

  it('pays in the way that its latest import says: both parts of it, and of a number only the last digits', async () => {
    const row = { uid: 'payer', email: 'payer@example.com', status: 'PRO', createdAt: '2026-01-31' };
    const method = async () => (await must('get_user_billing', { userId: 'payer' })).paymentMethod;
    await put('users', [row]);
    assert.equal(await method(), null);
    const paying = { ...row, paymentBrand: 'Visa', paymentLast4: '0042' };
    assert.equal((await put('users', [paying])).updated, 1);
    assert.deepEqual(await method(), { brand: 'Visa', last4: '0042' });
    assert.equal((await put('users', [paying])).unchanged, 1);
    assert.ok(!('paymentLast4' in (await must('get_user', { userId: 'payer' }))));
    await put('users', [{ ...paying, plan: 'Team yearly' }]);
    const { status, plan } = await must('get_user', { userId: 'payer' });
    assert.deepEqual([status, plan], ['PRO', 'Team yearly']);
    const wrong = [
      { ...paying, paymentLast4: '4242424242424242' },
      { ...paying, paymentLast4: 42 },
      { ...row, paymentBrand: 'Visa' },
      { ...row, paymentLast4: '0042' },
    ];
    for (const record of wrong) {
      const { issues = [] } = await callsOf(server).refused('import_records', { type: 'users', records: [record] });
      assert.deepEqual(pluck(issues, 'path'), ['records[0].paymentLast4']);
    }
    assert.deepEqual(await method(), { brand: 'Visa', last4: '0042' });
    await put('users', [row]);
    assert.equal(await method(), null);
  });

  it('has the same amounts in its timeline and in its billing, in major units of each currency', async () => {
    const { invoices } = await must('get_user_billing', { userId: 'p' });
    const { data } = await must('get_user_timeline', { userId: 'p', limit: 100 });
    const amounts = (type: string, member: string) =>
      data
        .filter((entry: { type: string }) => entry.type === type)
        .map((entry: { properties: Record<string, unknown> }) => [entry.properties[member], entry.properties.currency]);
    const billed = invoices.map(({ total, currency }: Record<string, unknown>) => [total, currency]);
    assert.deepEqual(billed, [
      [500, 'JPY'],
      [11.9, 'EUR'],
      [11.9, 'EUR'],
    ]);
    assert.deepEqual(amounts('invoice.issued', 'total'), billed);
    assert.deepEqual(amounts('invoice.paid', 'total'), [[11.9, 'EUR']]);
    assert.deepEqual(amounts('subscription.changed', 'amount'), [[20, 'EUR']]);
  });

  it('has a timeline whose pages end early where events are large', async () => {
    await put('users', [{ uid: 'large', email: 'l@example.com', status: 'FREE', createdAt: '2026-01-01' }]);
    const properties = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`p${at}`, 'x'.repeat(2000)]));
    const events = Array.from({ length: 25 }, (_, at) => ({
      id: `l${at}`,
      uid: 'large',
      name: 'n',
      at: '2026-01-02',
      properties,
    }));
    await put('events', events);
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const asked = { userId: 'large', limit: 100, ...(cursor && { cursor }) };
      const page: { data: { id: string }[]; nextCursor: string | null } = await must('get_user_timeline', asked);
      assert.ok(JSON.stringify(page).length < 1_100_000);
      seen.push(...page.data.map(({ id }) => id));
      cursor = page.nextCursor;
    } while (cursor);
    assert.deepEqual([seen.length, new Set(seen).size], [26, 26]);
  });

  it('is found by its e-mail, in any case, where one user has it', async () => {
    const { uid, email } = await must('get_user', { userId: 'p' });
    for (const tool of ['get_user', 'get_user_billing'])
      assert.deepEqual(await must(tool, { userId: email.toUpperCase() }), await must(tool, { userId: uid }));
    const path = `/api/v1/users/${encodeURIComponent(email)}/timeline`;
    const { status, body } = await rest(server, 'GET', path, { key: server.adminKey });
    assert.deepEqual([status, body.data], [200, (await must('get_user_timeline', { userId: uid })).data]);
    const { data } = await must('list_user_websites', { userId: email });
    assert.equal(data.length, 1);
    const twin = { email: 'twin@example.com', status: 'FREE', createdAt: '2026-01-31' };
    await put('users', [
      { ...twin, uid: 'twin-1' },
      { ...twin, uid: 'twin-2' },
    ]);
    const { code, error } = await callsOf(server).refused('get_user', { userId: twin.email });
    assert.deepEqual([code, /twin-1/.test(error) && /twin-2/.test(error)], ['invalid_input', true]);
    assert.equal((await callsOf(server).refused('get_user', { userId: 'none@example.com' })).code, 'not_found');
    const limited = await makeKey(server, { grants: ['user:read:twin-1'] });
    assert.equal(await codeOf('get_user', { userId: email }, limited), 'forbidden');
  });

  it('has a timeline that is filtered by type and time, with totals and pages to match', async () => {
    const all = (await must('get_user_timeline', { userId: 'p', limit: 100 })).data as { type: string; at: string }[];
    const [from, to] = ['2026-02-01T00:00:00Z', '2026-02-05T00:00:00Z'];
    for (const type of [undefined, 'event', 'invoice.issued', 'user.deleted']) {
      for (const [since, until] of [
        [undefined, undefined],
        [from, undefined],
        [from, to],
      ]) {
        const expected = all.filter(
          (entry) =>
            (!type || entry.type === type) &&
            (!since || entry.at >= new Date(since).toISOString()) &&
            (!until || entry.at < new Date(until).toISOString()),
        );
        const found: object[] = [];
        let cursor: string | null = null;
        do {
          const page: { data: object[]; nextCursor: string | null; total: number } = await must('get_user_timeline', {
            ...{ userId: 'p', limit: 9, includeTotal: true },
            ...(type && { type }),
            ...(since && { from: since }),
            ...(until && { to: until }),
            ...(cursor && { cursor }),
          });
          assert.equal(page.total, expected.length);
          found.push(...page.data);
          cursor = page.nextCursor;
        } while (cursor);
        assert.deepEqual(found, expected);
      }
    }
  });

  it('has a timeline of everything, newest first, page by page without gap or repetition', async () => {
    const all: { id: string; at: string; type: string; properties?: { at?: number } }[] = [];
    let cursor: string | null = null;
    do {
      const page: { data: typeof all; nextCursor: string | null } = await must('get_user_timeline', {
        userId: 'p',
        limit: 7,
        ...(cursor && { cursor }),
      });
      all.push(...page.data);
      cursor = page.nextCursor;
    } while (cursor);
    assert.equal(new Set(all.map(({ id }) => id)).size, all.length);
    assert.equal((await must('get_user_timeline', { userId: 'p', limit: 1, includeTotal: true })).total, all.length);
    assert.deepEqual(
      pluck(all, 'at'),
      all
        .map(({ at }) => at)
        .sort()
        .reverse(),
    );
    const counts = Object.fromEntries(
      [...new Set(all.map(({ type }) => type))].map((type) => [
        type,
        all.filter((entry) => entry.type === type).length,
      ]),
    );
    assert.deepEqual(counts, {
      'subscription.changed': 1,
      'invoice.issued': 3,
      'website.state_changed': 2,
      event: 30,
      'website.created': 1,
      'invoice.paid': 1,
      'user.created': 1,
      'subscription.started': 1,
    });
    const told = all.flatMap(({ properties }) => properties?.at ?? []).sort((a, b) => a - b);
    assert.deepEqual(
      told,
      Array.from({ length: 30 }, (_, at) => at),
    );
  });

  it('has its websites and when it was last active', async () => {
    const { data } = await must('list_user_websites', { userId: 'p' });
    assert.deepEqual(data, [
      {
        id: 'w',
        url: 'https://p.example',
        name: 'P',
        state: 'suspended',
        createdAt: '2026-02-02T00:00:00.000Z',
        publishedAt: '2026-02-03T00:00:00.000Z',
      },
    ]);
    assert.equal((await must('get_user', { userId: 'p' })).lastActiveAt, '2026-02-05T00:00:00.000Z');
  });
});
