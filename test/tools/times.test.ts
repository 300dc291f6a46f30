import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { callsOf } from '../support/calls.ts';
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
