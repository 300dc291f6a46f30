import assert from 'node:assert/strict';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { LoggedRow, RowLog } from '../../../store/port.ts';
import { ImportedData } from '../../../tools/analytics/model/imported-data.ts';
import {
  ImportedModel,
  type TypedRow,
  USER_PURGE,
  type UserPurge,
} from '../../../tools/analytics/model/imported-model.ts';
import { mustCall } from '../../support/calls.ts';
import { fc } from '../../support/property.ts';
import { startTestServer, type TestServer } from '../../support/server.ts';
import { until } from '../../support/until.ts';
import { RUNS } from './rounds.ts';

const day = (n: number) => new Date(Date.UTC(2026, 0, 1 + n)).toISOString();
const id = fc.constantFrom('1', '2');
const uid = fc.constantFrom('u1', 'u2');
const days = fc.nat(4).map(day);
const effectiveAt = fc.constantFrom(undefined, day(0), day(2), day(3));

/** Rows with few keys, times and contents, so that they replace and repeat each other. */
const rows = fc.oneof(
  fc
    .record({ uid, email: fc.constantFrom('a', 'b'), status: fc.constantFrom('PRO', 'FREE'), createdAt: days })
    .map((row) => ({ type: 'users', row: { ...row } })),
  fc
    .record({ id, uid, total: fc.nat(2), status: fc.constant('paid'), issuedAt: days })
    .map((row) => ({ type: 'invoices', row: { ...row } })),
  fc.record({ id, uid, name: fc.constantFrom('x', 'y'), at: days }).map((row) => ({ type: 'events', row: { ...row } })),
  fc
    .record({
      id,
      visitorId: fc.constantFrom('v', 'w'),
      uid: fc.option(uid, { nil: undefined }),
      at: days,
      page: fc.constantFrom('/', '/x'),
    })
    .map((row) => ({ type: 'visits', row: { ...row } })),
  // Of one subscription: what it says is compared in more ways than the others are.
  fc
    .record({ amount: fc.nat(1), effectiveAt })
    .map((row) => ({ type: 'subscriptions', row: { id: '3', uid: 'u1', startedAt: day(0), ...row } })),
  fc
    .record({ id, uid, amount: fc.nat(1), startedAt: fc.constantFrom(day(0), day(1)), effectiveAt })
    .map((row) => ({ type: 'subscriptions', row: { ...row } })),
  fc
    .record({ id, uid, state: fc.constantFrom('draft', 'published'), createdAt: fc.constant(day(0)), effectiveAt })
    .map((row) => ({ type: 'websites', row: { ...row } })),
  uid.map((user) => ({ type: 'purge', row: { uid: user } })),
) as fc.Arbitrary<TypedRow | UserPurge>; // as far as the model looks at them

type Line = (TypedRow | UserPurge) & { readonly position: number; readonly at: string };

function fold(lines: readonly Line[]): ImportedModel {
  const model = new ImportedModel();
  for (const line of lines) model.put(line, line.position, line.at);
  return model;
}

const byKey = (entries: readonly [string, unknown][]) => entries.toSorted(([a], [b]) => (a < b ? -1 : 1));

/** All that a model can be asked, but for the order of what has none. */
function told(model: ImportedModel, probes: readonly (TypedRow | UserPurge)[]) {
  const { events, visits, uids } = model;
  for (const { feed } of [events, visits]) assert.ok(feed.settle(Number.POSITIVE_INFINITY));
  const sessions = [...(visits.sessions.by(undefined).sets.get(0)?.ascending(Number.NEGATIVE_INFINITY) ?? [])];
  const text = (row: number) =>
    `${events.names.text(events.table.at('name', row))} ${uids.text(events.table.at('uid', row))}`;
  const states = (all: ReadonlyMap<string, { list: readonly { from: number; row: object }[] }>) =>
    byKey([...all].map(([key, { list }]) => [key, list.map(({ from, row }) => [from, row])]));
  return {
    users: [...model.users.find({})],
    invoices: byKey([...model.invoices]),
    subscriptions: states(model.subscriptions),
    websites: states(model.websites),
    events: Array.from(events.all.byTime.ascending(Number.NEGATIVE_INFINITY), (row) => [
      events.table.at('time', row),
      events.table.at('position', row),
      text(row),
    ]),
    sessions: sessions.map((session) =>
      (['start', 'end', 'pages'] as const).map((name) => visits.sessions.table.at(name, session)),
    ),
    owned: ['u1', 'u2'].map((user) => Object.values(model.owned).map((owned) => owned.of(user).toSorted())),
    knows: probes.map((probe) => (probe.type === USER_PURGE ? model.knowsOf(probe.row.uid) : model.knows(probe))),
  };
}

/** The lines without those that belonged to a user when that one was purged. */
function withoutPurged(lines: readonly Line[]): Line[] {
  let kept: Line[] = [];
  for (const line of lines) {
    if (line.type !== USER_PURGE) {
      kept.push(line);
      continue;
    }
    const { uid: user } = line.row;
    const { owned } = fold(kept);
    const latest = new Map(kept.map(({ type, row }) => [`${type} ${'id' in row ? row.id : row.uid}`, row.uid]));
    kept = kept.filter(({ type, row }) => {
      if (type === 'subscriptions' || type === 'websites') return !owned[type].of(user).includes(row.id);
      return latest.get(`${type} ${'id' in row ? row.id : row.uid}`) !== user;
    });
  }
  return kept;
}

describe('rows that later ones replaced', () => {
  it('can be dropped at any time without a difference', () => {
    fc.assert(
      fc.property(fc.array(rows, { maxLength: 25 }), fc.array(fc.boolean(), { maxLength: 25 }), (made, drops) => {
        let log: Line[] = [];
        const whole = new ImportedModel();
        let model = new ImportedModel();
        for (const [position, row] of made.entries()) {
          const line = { ...row, position, at: day(position) };
          log.push(line);
          whole.put(line, position, line.at);
          model.put(line, position, line.at);
          if (!drops[position]) continue;
          const gone = new Set(model.superseded.splice(0));
          log = log.filter((kept) => !gone.has(kept.position));
          // As after a start.
          model = fold(log);
        }
        const expected = told(whole, made);
        assert.deepEqual(told(model, made), expected);
        const all = made.map((row, position) => ({ ...row, position, at: day(position) }));
        const gone = new Set(whole.superseded);
        const left = all.filter(({ position }) => !gone.has(position));
        assert.deepEqual(told(fold(left), made), expected);
        assert.deepEqual(told(fold(withoutPurged(all)), made), expected);
        assert.equal(new Set(whole.superseded).size, whole.superseded.length);
      }),
      RUNS,
    );
  });

  it('are dropped a day later, however few they are, and again after a failure', async () => {
    let now = Date.parse(day(0));
    let failing = true;
    const log = [1, 2, 1].map(
      (key, position): LoggedRow => ({
        position,
        next: position + 1,
        type: 'users',
        at: day(0),
        row: { uid: `u${key}`, email: `${position}`, status: 'PRO', createdAt: day(0) },
      }),
    );
    const dropped: number[][] = [];
    const data = new ImportedData(
      {
        read: async (from, limit) => log.slice(from, from + limit),
        get: async () => [],
        drop: async (positions) => {
          dropped.push([...positions]);
          if (failing) throw new Error('no');
        },
      },
      () => new Date(now),
    );
    const after = async (hours: number) => {
      now += hours * 3_600_000;
      await data.current();
      await data.upkeep();
    };
    await after(0);
    await after(23);
    assert.deepEqual(dropped, []);
    await after(1);
    await after(0.1);
    assert.deepEqual(dropped, [[0]]);
    failing = false;
    await after(0.1);
    assert.deepEqual(dropped, [[0], [0]]);
    await after(100);
    assert.equal(dropped.length, 2);
  });

  it('give back their memory once they were dropped and outnumber the others', async () => {
    let log: LoggedRow[] = [];
    const add = (round: number) => {
      for (let key = 0; key < 600; key += 1) {
        const position = log.at(-1)?.next ?? 0;
        const row = { id: `e${key}`, uid: `u${key % 7}`, name: `round ${round}`, at: day(key) };
        log.push({ position, next: position + 1, type: 'events', at: day(round), row });
      }
    };
    const data = new ImportedData(
      {
        read: async (from, limit) => log.filter(({ position }) => position >= from).slice(0, limit),
        get: async () => [],
        drop: async (positions) => {
          const gone = new Set(positions);
          log = log.filter(({ position }) => !gone.has(position));
        },
      },
      () => new Date(day(0)),
    );
    const versions = [];
    for (let round = 0; round < 20; round += 1) {
      add(round);
      await data.upkeep();
      const { events, rows, version } = await data.current();
      assert.ok(events.table.size <= 2 * (600 + 1000), `${events.table.size} rows in memory`);
      assert.ok(rows <= 600 + 1000);
      assert.equal([...events.ofUser('u3')].length, 86);
      assert.equal(events.names.text(events.table.at('name', [...events.ofUser('u3')][0] ?? 0)), `round ${round}`);
      versions.push(version);
    }
    assert.deepEqual(
      versions,
      [...new Set(versions)].sort((a, b) => a - b),
    );
  });
});

describe('rows of a user who was purged', () => {
  it('are dropped at once, with the row that says so, also after a start', async () => {
    const row = { uid: 'u1', email: 'x', status: 'PRO', createdAt: day(0) };
    const log = ['users', 'users', USER_PURGE].map(
      (type, at): LoggedRow => ({
        position: at,
        next: at + 1,
        type,
        at: day(0),
        row: at === 1 ? { ...row, uid: 'u2' } : row,
      }),
    );
    const dropped: number[][] = [];
    const rowLog: RowLog = {
      read: async (from, limit) => log.slice(from, from + limit),
      get: async () => [],
      drop: async (positions) => {
        dropped.push([...positions]);
      },
    };
    const data = new ImportedData(rowLog, () => new Date(day(0)));
    await data.upkeep();
    assert.deepEqual(dropped, [[0, 2]]);
    assert.deepEqual((await data.current()).rows, 1);
  });
});

describe('import_records', () => {
  let server: TestServer;
  before(async () => {
    server = await startTestServer();
  });
  after(() => server.close());
  const ask = (tool: string, input: object) => mustCall(server, server.adminKey, tool, input);
  const sizeOfRows = () =>
    readdirSync(server.folder)
      .filter((name) => name.endsWith('.ndjson') && name.startsWith('rows'))
      .reduce((sum, name) => sum + statSync(join(server.folder, name)).size, 0);

  it('of the same rows again and again leaves the file as it was, and of one new among them adds that one', async () => {
    const events = Array.from({ length: 200 }, (_, at) => ({
      id: `same${at}`,
      uid: 'same',
      name: 'x',
      at: day(at),
      properties: { text: 'y'.repeat(100) },
    }));
    const users = [{ uid: 'same', email: 'same@example.com', status: 'PRO', createdAt: day(0) }];
    const importBoth = async () => [
      await ask('import_records', { type: 'users', records: users }),
      await ask('import_records', { type: 'events', records: events }),
    ];
    await importBoth();
    const once = sizeOfRows();
    assert.ok(once > 200 * 100);
    for (let round = 0; round < 3; round += 1) {
      const again = await importBoth();
      assert.deepEqual(
        again.map(({ created, updated, unchanged }) => [created, updated, unchanged]),
        [
          [0, 0, 1],
          [0, 0, 200],
        ],
      );
      assert.equal(sizeOfRows(), once);
    }
    const added = { ...events[0], id: 'one-more' };
    await ask('import_records', { type: 'events', records: [...events, added, added] });
    assert.ok(sizeOfRows() > once && sizeOfRows() < once + 2 * JSON.stringify(added).length);
  });

  it('of the same keys again and again leaves the file as large as what counts', async () => {
    const users = [{ uid: 'u', email: 'u@example.com', status: 'PRO', createdAt: day(0) }];
    await ask('import_records', { type: 'users', records: users });
    const events = (round: number) =>
      Array.from({ length: 1000 }, (_, at) => ({
        id: `e${at}`,
        uid: 'u',
        name: 'x',
        at: day(at),
        properties: { round, text: 'y'.repeat(100) },
      }));
    await ask('import_records', { type: 'events', records: events(0) });
    const once = sizeOfRows();
    for (let round = 1; round <= 7; round += 1) {
      const { updated } = await ask('import_records', { type: 'events', records: events(round) });
      assert.equal(updated, 1000);
      const { data } = await ask('get_user_timeline', { userId: 'u', limit: 100 });
      assert.ok(
        data.every(
          ({ type, properties }: { type: string; properties: { round: number } }) =>
            type !== 'event' || properties.round === round,
        ),
      );
    }
    await until(() => sizeOfRows() < once * 3.2);
    const ids = async (cursor?: string) =>
      ask('get_user_timeline', { userId: 'u', limit: 50, ...(cursor && { cursor }) });
    const page = await ids();
    await server.store.rows.drop((await server.store.rows.read(0, 2000)).slice(0, 2).map(({ position }) => position));
    assert.deepEqual(await ids(), page);
    assert.equal((await ids(page.nextCursor)).data.length, 50);
  });
});
