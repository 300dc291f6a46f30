import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { deleteVersions, withHistory } from '../../tools/core/history/history.ts';
import { isVersioned } from '../../tools/core/kind.ts';
import { kinds as kindsOfRecords } from '../../tools/kinds.ts';
import { purgeableUser } from '../../tools/users/users.ts';
import { purgeableAmong } from '../../tools/versions/purge.ts';
import { callsOf, callTool, makeKey } from '../support/calls.ts';
import { pluck } from '../support/pluck.ts';
import { startTestServer } from '../support/server.ts';
import { onPostgres } from '../support/store.ts';
import { until } from '../support/until.ts';

const server = await startTestServer();
const { must, codeOf, call } = callsOf(server);

type Input = Record<string, unknown>;
const purge = (entityType: string, id: string, key = server.adminKey) => call('purge_record', { entityType, id }, key);
/** The files of the data folder that hold the text. */
async function filesWith(text: string): Promise<string[]> {
  const names = await readdir(server.folder, { recursive: true, withFileTypes: true });
  const files = names.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const held = await Promise.all(
    files.map(async (path) => (await readFile(path).catch(() => Buffer.alloc(0))).includes(text)),
  );
  return files.filter((_, at) => held[at]);
}

const eventuallyNowhere = (text: string) => until(async () => (await filesWith(text)).length === 0);

interface Kind {
  /** Makes one and changes it, the marker in its content each time; its id. */
  make(marker: string): Promise<string>;
  /** Reads the record. */
  get(id: string): [tool: string, input: Input];
  list?: () => [tool: string, input: Input];
  /** Deleting it leaves its history. */
  remove?: (id: string) => [tool: string, input: Input];
  /** How many files hold it at least: a journal and an audit segment if nothing is said. */
  files?: number;
}

function plain(noun: string, inputs: (marker: string) => readonly [create: Input, change: Input]): Kind {
  return {
    async make(marker) {
      const [create, change] = inputs(marker);
      const { id } = await must(`create_${noun}`, create);
      await must(`update_${noun}`, { id, ...change });
      return id;
    },
    get: (id) => [`get_${noun}`, { id }],
    list: () => [noun === 'memory' ? 'list_memories' : `list_${noun}s`, { limit: 100 }],
    remove: (id) => [`delete_${noun}`, { id }],
  };
}

/** A user with something of every type, some of it said twice; returns how many rows were new. */
async function importUser(uid: string, marker: string): Promise<number> {
  const [id, at] = [`own-${uid}`, '2026-01-05T00:00:00.000Z'];
  let created = 0;
  const put = async (type: string, ...records: object[]) => {
    created += (await must('import_records', { type, records })).created;
  };
  const payment = { paymentBrand: marker, paymentLast4: '0042' };
  await put('users', { uid, email: `${marker}@example.com`, status: 'PRO', name: marker, createdAt: at, ...payment });
  await put('users', { uid, email: 'x', status: 'PRO', name: `new ${marker}`, createdAt: at });
  const site = { id, uid, url: `https://${marker}.example`, name: marker, state: 'draft', createdAt: at };
  await put('websites', site);
  await put('websites', { ...site, name: 'x', effectiveAt: at });
  await put('websites', { ...site, effectiveAt: at });
  await put('events', { id, uid, name: 'x', at, properties: { marker } });
  await put('visits', { id, uid, visitorId: marker, at, page: `/${marker}` });
  const terms = { amount: 100, currency: 'EUR', interval: 'month', status: 'active', startedAt: at };
  await put('subscriptions', { id, uid, plan: marker, ...terms });
  await put('invoices', { id: marker, uid, total: 1, tax: 0, currency: 'EUR', status: 'paid', issuedAt: at });
  return created;
}

let databaseId = '';
const kinds: Readonly<Record<string, Kind>> = {
  agent: plain('agent', (m) => [{ name: m, displayName: m, instructions: m }, { description: `new ${m}` }]),
  skill: plain('skill', (m) => [{ name: m, instructions: `${m} `.repeat(300) }, { instructions: `${m}!`.repeat(300) }]),
  flow: plain('flow', (m) => [
    { name: m, steps: [{ id: 'one', tool: 'list_skills', arguments: {} }] },
    { description: m },
  ]),
  memory: plain('memory', (m) => [{ content: m, kind: 'fact', scope: 'workspace' }, { content: `new ${m}` }]),
  project: plain('project', (m) => [{ name: m }, { description: m }]),
  goal: plain('goal', (m) => [{ title: m }, { description: m }]),
  task: plain('task', (m) => [{ title: m, content: m }, { title: `new ${m}` }]),
  'task-document': {
    async make(marker) {
      const { id } = await must('create_task', { title: marker, content: marker });
      await must('delete_task', { id });
      return id;
    },
    get: (id) => ['list_versions', { entityType: 'task-document', entityId: id }],
  },
  document: plain('document', (m) => [{ title: m, content: m }, { content: `${m} changed` }]),
  artifact: plain('artifact', (m) => [{ name: m, mimeType: 'text/plain', content: m }, { content: `${m} changed` }]),
  database: {
    make: async (marker) =>
      (await must('create_database', { name: marker, columns: [{ name: 'a', type: 'string' }] })).id,
    get: (id) => ['get_database', { id }],
    list: () => ['list_databases', { limit: 100 }],
  },
  'database-record': {
    async make(marker) {
      databaseId = (await must('create_database', { name: 'holder', columns: [{ name: 'a', type: 'string' }] })).id;
      const { id } = await must('create_record', { databaseId, values: { a: marker } });
      await must('update_record', { databaseId, id, values: { a: `new ${marker}` } });
      return id;
    },
    get: (id) => ['get_record', { databaseId, id }],
    list: () => ['list_records', { databaseId, limit: 100 }],
    remove: (id) => ['delete_record', { databaseId, id }],
  },
  capsule: plain('capsule', (m) => [{ name: m }, { description: m }]),
  report: plain('report', (m) => [{ title: m, query: { tool: 'list_skills' } }, { description: m }]),
  user: {
    async make(marker) {
      const uid = `user-${count}`;
      await importUser(uid, marker);
      return uid;
    },
    get: (id) => ['get_user', { userId: id }],
    list: () => ['list_users', { limit: 100 }],
    files: 1,
  },
  thread: {
    async make(marker) {
      const { id } = await must('create_thread', { title: 'x', messages: [{ role: 'user', content: marker }] });
      await must('update_thread', { id, title: marker });
      return id;
    },
    get: (id) => ['list_messages', { id }],
    list: () => ['list_threads', { limit: 100 }],
  },
};

const versioned: ReadonlySet<string> = new Set(kindsOfRecords.filter(isVersioned).map(({ type }) => type));
let count = 0;
function newMarker(): string {
  count += 1;
  return `marker${count}x${'zq'.repeat(8)}`;
}

describe('purge_record', () => {
  it('takes every kind of record that has a history, but the bot config', () => {
    const types = new Set([...purgeableAmong(kindsOfRecords), purgeableUser].map(({ type }) => type));
    assert.deepEqual(
      [...versioned].filter((type) => !types.has(type)),
      ['agent-config'],
    );
    assert.deepEqual(Object.keys(kinds).sort(), [...types].sort());
  });

  for (const [type, kind] of Object.entries(kinds)) {
    it(`removes a ${type} from answers, history, audit log and files`, async () => {
      const marker = newMarker();
      const id = await kind.make(marker);
      const history = { entityType: type, entityId: id };
      assert.equal(await codeOf(...kind.get(id)), 'ok');
      if (kind.list) assert.ok(JSON.stringify(await must(...kind.list())).includes(id));
      if (versioned.has(type)) assert.equal(await codeOf('list_versions', history), 'ok');
      await server.store.audit.flush();
      assert.ok(onPostgres || (await filesWith(marker)).length >= (kind.files ?? 2));

      assert.deepEqual(await purge(type, id), { output: {} });
      assert.equal(await codeOf(...kind.get(id)), 'not_found');
      if (kind.list) assert.ok(!JSON.stringify(await must(...kind.list())).includes(id));
      if (versioned.has(type)) assert.equal(await codeOf('list_versions', history), 'not_found');
      const { data } = await must('search', { q: marker });
      assert.deepEqual(data, []);
      // That search is a call of its own, made after the purge, with the marker in its arguments.
      const again = await purge(type, id);
      assert.equal('error' in again && again.error.code, 'not_found');
    });

    it(`leaves no byte of a ${type}, deleted before where its history stays, in the data folder`, async () => {
      const marker = newMarker();
      const id = await kind.make(marker);
      if (kind.remove && (versioned.has(type) || type === 'task')) await must(...kind.remove(id));
      assert.deepEqual(await purge(type, id), { output: {} });
      await eventuallyNowhere(marker);
    });
  }

  it('keeps the audit entries, without content, and leaves one of its own', async () => {
    const marker = newMarker();
    const other = await must('create_skill', { name: `other ${marker.length}`, instructions: 'stays' });
    const { id } = await must('create_skill', { name: marker, instructions: 'x'.repeat(9000) });
    await must('update_skill', { instructions: `${marker}${'x'.repeat(9000)}`, id });
    await call('update_skill', { id, description: marker, expectedRevision: 1 });
    await purge('skill', id);
    await eventuallyNowhere(marker);
    const { data } = await must('list_audit_entries', { limit: 5 });
    assert.deepEqual(
      data.map(({ tool, arguments: args, outcome }: Record<string, unknown>) => [tool, args, outcome]),
      [
        ['purge_record', { entityType: 'skill', id }, 'ok'],
        ['update_skill', { id }, 'failed'],
        ['update_skill', {}, 'ok'],
        ['create_skill', {}, 'ok'],
        ['create_skill', { name: `other ${marker.length}`, instructions: 'stays' }, 'ok'],
      ],
    );
    assert.deepEqual(pluck(data.slice(2), 'recordIds'), [[id], [id], [other.id]]);
  });

  it('frees the name', async () => {
    const { id } = await must('create_agent', { name: 'freed', displayName: 'x' });
    await purge('agent', id);
    assert.notEqual((await must('create_agent', { name: 'freed', displayName: 'x' })).id, id);
  });

  it('takes the kept answer of an idempotent call away, and the call is not made again', async () => {
    const marker = newMarker();
    const meta = { idempotencyKey: 'once' };
    const create = () => callTool(server, server.adminKey, 'create_skill', { name: marker }, meta);
    const first = await create();
    assert.ok('output' in first);
    await purge('skill', String(first.output.id));
    await eventuallyNowhere(marker);
    const repeat = await create();
    assert.equal('error' in repeat && repeat.error.code, 'conflict');
    const { data } = await must('list_skills', { limit: 100 });
    assert.ok(!data.some(({ name }: { name: string }) => name === marker));
  });

  it('refuses what others name, naming a few', async () => {
    const skill = await must('create_skill', { name: 'named' });
    const agent = await must('create_agent', { name: 'namer', displayName: 'x', skillIds: [skill.id] });
    const project = await must('create_project', { name: 'named' });
    const goal = await must('create_goal', { title: 'named', projectId: project.id });
    const task = await must('create_task', { title: 'names', goalId: goal.id, assigneeAgentId: agent.id });
    const thread = await must('create_thread', { title: 'names', agentIds: [agent.id] });
    const database = await must('create_database', { name: 'named', columns: [{ name: 'a', type: 'string' }] });
    const record = await must('create_record', { databaseId: database.id, values: {} });
    const refused = async (type: string, id: string, naming: string) => {
      const answer = await purge(type, id);
      assert.ok('error' in answer, type);
      assert.equal(answer.error.code, 'conflict');
      assert.ok(answer.error.error.includes(naming), answer.error.error);
    };
    await refused('skill', skill.id, agent.id);
    await refused('project', project.id, goal.id);
    await refused('goal', goal.id, task.id);
    await refused('task-document', task.id, task.id);
    await refused('database', database.id, record.id);
    const flow = await must('create_flow', { name: 'names', agentId: agent.id, prompt: 'x' });
    await refused('agent', agent.id, task.id);
    await must('delete_agent', { id: agent.id });
    await refused('agent', agent.id, task.id);
    assert.deepEqual(await purge('task', task.id), { output: {} });
    await refused('agent', agent.id, flow.id);
    assert.deepEqual(await purge('flow', flow.id), { output: {} });
    await refused('agent', agent.id, thread.id);
    assert.deepEqual(await purge('thread', thread.id), { output: {} });
    for (const [type, id] of Object.entries({ agent: agent.id, skill: skill.id, goal: goal.id, project: project.id }))
      assert.deepEqual(await purge(type, id), { output: {} });
  });

  it('takes all that was imported of a user out of the metrics, and it can be imported again', async () => {
    await must('update_settings', { currency: 'EUR' });
    const [uid, marker] = ['comes-back', newMarker()];
    const metrics = async () => {
      const range = { from: '2026-01-01', to: '2026-02-01', interval: 'month' };
      return Promise.all(
        [...['get_mrr', 'get_active_users', 'get_traffic_visitors', 'get_website_states', 'get_subscriptions']].map(
          async (tool) => ({ ...(await must(tool, range)), asOf: '' }),
        ),
      );
    };
    const without = await metrics();
    assert.equal(await importUser(uid, marker), 6);
    const withUser = await metrics();
    for (const [at, metric] of withUser.entries()) assert.notDeepEqual(metric, without[at]);
    const memory = await must('create_memory', { content: 'likes tea', kind: 'fact', scope: 'user', userId: uid });
    const refused = await purge('user', uid);
    assert.ok('error' in refused && refused.error.error.includes(memory.id), JSON.stringify(refused));
    await purge('memory', memory.id);
    assert.deepEqual(await purge('user', uid), { output: {} });
    assert.deepEqual(await metrics(), without);
    assert.equal(await codeOf('get_user_timeline', { userId: uid }), 'not_found');
    assert.equal(await importUser(uid, marker), 6);
    assert.deepEqual(await metrics(), withUser);
    assert.deepEqual(await purge('user', uid), { output: {} });
    await eventuallyNowhere(marker);
  });

  it('takes the grant record:purge, which opens no restricted thread', async () => {
    const key = await makeKey(server, { grants: ['record:purge'] });
    const { id } = await must('create_document', { title: 'x' });
    assert.deepEqual(await purge('document', id, key), { output: {} });
    const thread = await must('create_thread', { title: 'secret', visibility: 'restricted' });
    const hidden = await purge('thread', thread.id, key);
    assert.equal('error' in hidden && hidden.error.code, 'not_found');
    const writer = await purge('document', id, await makeKey(server, { scopes: ['write'] }));
    assert.equal('error' in writer && writer.error.code, 'forbidden');
  });

  it('leaves nothing behind when the record is changed at the same time', async () => {
    const marker = newMarker();
    const { id } = await must('create_document', { title: 'busy', content: marker });
    const changes = Array.from({ length: 10 }, (_, n) =>
      codeOf('update_document', { id, tags: [`t${n}`], content: `${n}` }),
    );
    const purged = await purge('document', id);
    const codes = await Promise.all(changes);
    assert.deepEqual(purged, { output: {} });
    assert.ok(codes.every((code) => code === 'ok' || code === 'not_found'));
    assert.equal(await server.store.documents.get(id), undefined);
    assert.equal(await server.store.versions.count({ where: { entityType: 'document', entityId: id } }), 0);
    await eventuallyNowhere(marker);
  });

  it('deletes all versions, however many are read at a time, and those of no other record', async () => {
    const [busy, other] = [
      await must('create_document', { title: 'busy' }),
      await must('create_document', { title: 'x' }),
    ];
    for (let n = 0; n < 11; n += 1) await must('update_document', { id: busy.id, content: `${n}` });
    const of = (entityId: string) => ({ entityType: ['document'], entityId });
    const deleted = await server.store.transaction((tx) => deleteVersions(tx.versions, of(busy.id), 5));
    assert.equal(deleted, 12);
    assert.equal(await server.store.versions.count({ where: of(busy.id) }), 0);
    assert.equal(await server.store.versions.count({ where: of(other.id) }), 1);
  });

  it('leaves everything when it fails half way', async () => {
    const { id } = await must('create_document', { title: 'kept', content: 'all of it' });
    const author = { type: 'session', id: 'usr_1', name: 'x' };
    await assert.rejects(
      server.store.transaction(async (tx) => {
        assert.equal(await withHistory(tx, kindsOfRecords, { author }).purge('documents', id), true);
        throw new Error('half way');
      }),
      /half way/,
    );
    assert.equal((await must('get_document', { id })).content, 'all of it');
    assert.equal((await must('list_versions', { entityType: 'document', entityId: id })).data.length, 1);
    const { data } = await must('list_audit_entries', { tool: 'create_document', limit: 1 });
    assert.equal(data[0].arguments.content, 'all of it');
  });
});
