import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as calendar from '../../tools/analytics/calendar.ts';
import { callsOf } from '../support/calls.ts';
import { fc } from '../support/property.ts';
import { startTestServer } from '../support/server.ts';

const server = await startTestServer();
const { must, refused } = callsOf(server);

/** Times as programs write them by default if they know a zone. */
const GIVEN = '2999-03-01T01:30:00.250+02:00';
const KEPT = '2999-02-28T23:30:00.250Z';
/** Times that in UTC are beyond the years that every client knows. */
const BEYOND = ['9999-12-31T23:30:00-05:00', '0001-01-01T00:30:00+01:00', '0000-06-01T00:00:00Z'];

const columns = [{ name: 'at', type: 'date-time' }];

/** Every tool that takes a time: an input with it, and the time in its answer. */
const writers: readonly [tool: string, input: (at: string) => Promise<object>, shown: string][] = [
  ['create_memory', async (expiresAt) => ({ content: 'x', expiresAt }), 'expiresAt'],
  [
    'update_memory',
    async (expiresAt) => ({ id: (await must('create_memory', { content: 'x' })).id, expiresAt }),
    'expiresAt',
  ],
  ['create_task', async (dueAt) => ({ title: 'x', dueAt }), 'dueAt'],
  ['update_task', async (dueAt) => ({ id: (await must('create_task', { title: 'x' })).id, dueAt }), 'dueAt'],
  ['create_api_key', async (expiresAt) => ({ name: 'x', scopes: ['read'], expiresAt }), 'expiresAt'],
  ['create_capsule', async (expiresAt) => ({ name: 'x', expiresAt }), 'expiresAt'],
  [
    'update_capsule',
    async (expiresAt) => ({ id: (await must('create_capsule', { name: 'x' })).id, expiresAt }),
    'expiresAt',
  ],
  [
    'create_record',
    async (at) => ({ databaseId: (await must('create_database', { name: 'x', columns })).id, values: { at } }),
    'at',
  ],
];

describe('a time in an input', () => {
  it('may have an offset and is kept in UTC', async () => {
    for (const [tool, input, shown] of writers) {
      const answer = await must(tool, await input(GIVEN));
      assert.equal({ ...answer, ...answer.values }[shown], KEPT, tool);
    }
  });

  it('is refused where in UTC it is not of the years 0001 to 9999', async () => {
    for (const at of BEYOND) {
      for (const [tool, input] of writers) {
        const { code, issues } = await refused(tool, await input(at));
        assert.equal(code, 'invalid_input', tool);
        assert.match(issues?.[0]?.message ?? '', /0001 to 9999/, tool);
      }
      const row = { uid: 'u', email: 'u@example.com', status: 'FREE', createdAt: at };
      assert.equal((await refused('import_records', { type: 'users', records: [row] })).code, 'invalid_input');
    }
  });

  it('that is a date is refused in the year 0000', async () => {
    const { issues } = await refused('create_goal', { title: 'x', targetDate: '0000-01-01' });
    assert.match(issues?.[0]?.message ?? '', /0001-01-01/);
    assert.equal((await must('create_goal', { title: 'x', targetDate: '0001-01-01' })).targetDate, '0001-01-01');
  });

  it('bounds the audit log', async () => {
    await must('list_skills');
    const all = { tool: 'list_skills', from: '2000-01-01T00:00:00+14:00', to: GIVEN };
    assert.equal((await must('list_audit_entries', all)).data.length, 1);
    assert.deepEqual((await must('list_audit_entries', { ...all, from: GIVEN, to: undefined })).data, []);
  });
});

const iso = (time: number) => new Date(time).toISOString();
const lastDays = (now: Date, zone: string, count: number) =>
  calendar.lastDays(now, zone, count).map(({ from: date, start, end }) => ({ date, from: iso(start), to: iso(end) }));

describe('the last days', () => {
  it('are those of the time zone, also where the clocks change', () => {
    assert.deepEqual(lastDays(new Date('2026-03-29T22:30:00.000Z'), 'Europe/Berlin', 3), [
      { date: '2026-03-28', from: '2026-03-27T23:00:00.000Z', to: '2026-03-28T23:00:00.000Z' },
      { date: '2026-03-29', from: '2026-03-28T23:00:00.000Z', to: '2026-03-29T22:00:00.000Z' },
      { date: '2026-03-30', from: '2026-03-29T22:00:00.000Z', to: '2026-03-30T22:00:00.000Z' },
    ]);
    const [kathmandu] = lastDays(new Date('2026-01-01T18:14:59.999Z'), 'Asia/Kathmandu', 1);
    assert.deepEqual(kathmandu, {
      date: '2026-01-01',
      from: '2025-12-31T18:15:00.000Z',
      to: '2026-01-01T18:15:00.000Z',
    });
  });

  it('begin at the first minute where the clocks skip midnight', () => {
    const [day] = lastDays(new Date('2026-04-24T10:00:00.000Z'), 'Africa/Cairo', 1);
    assert.deepEqual(day, { date: '2026-04-24', from: '2026-04-23T22:00:00.000Z', to: '2026-04-24T21:00:00.000Z' });
  });

  it('follow each other without gap or overlap, and the last holds now', () => {
    const zone = fc.constantFrom('UTC', 'Europe/Berlin', 'America/St_Johns', 'Pacific/Kiritimati', 'Pacific/Niue');
    const time = fc.date({ min: new Date('2020-01-01'), max: new Date('2035-01-01'), noInvalidDate: true });
    fc.assert(
      fc.property(time, zone, (now, timezone) => {
        const days = lastDays(now, timezone, 30);
        assert.equal(days.length, 30);
        for (const [index, day] of days.entries()) {
          if (index > 0) assert.equal(day.from, days[index - 1]?.to);
          assert.ok(day.from < day.to);
        }
        const last = days.at(-1);
        assert.ok(last && last.from <= now.toISOString() && now.toISOString() < last.to);
      }),
      { numRuns: 200 },
    );
  });
});
