import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { catalog } from '../../tools/catalog.ts';
import { callsOf } from '../support/calls.ts';
import { pluck } from '../support/pluck.ts';
import { startTestServer } from '../support/server.ts';

const server = await startTestServer();
const { must, refused, codeOf } = callsOf(server);

const { id: projectId } = await must('create_project', { name: 'p' });
const columns = [
  { name: 'Name', type: 'string', required: true },
  { name: 'Deal size', type: 'number', required: false },
  { name: 'Won', type: 'boolean', required: false },
  { name: 'Met at', type: 'date-time', required: false },
];
const { id: databaseId } = await must('create_database', { name: 'Leads', columns });

type Members = Readonly<Record<string, unknown>>;
interface Kind {
  /** With what its ids begin. */
  readonly prefix: string;
  /** What calls name beside the id. */
  readonly place?: Members;
  readonly create: Members;
  readonly made: Members;
  /** Changes one after the other, each with what comes of it; undefined: no such member. */
  readonly changes: readonly (readonly [change: Members, changed: Members])[];
  /** Shown by get alone. */
  readonly long?: string;
  /** Other calls about a record that is gone. */
  readonly gone?: readonly (readonly [tool: string, input: Members])[];
}

const kinds: Readonly<Record<string, Kind>> = {
  skill: {
    prefix: 'skl',
    create: { name: 'triage', instructions: 'Sort.' },
    made: { name: 'triage' },
    changes: [
      [
        { description: 'd', instructions: null },
        { description: 'd', instructions: undefined },
      ],
    ],
  },
  project: {
    prefix: 'prj',
    create: { name: ' Launch ', description: 'd' },
    made: { name: 'Launch', status: 'active' },
    changes: [
      [
        { status: 'completed', description: null },
        { status: 'completed', description: undefined },
      ],
    ],
  },
  goal: {
    prefix: 'gol',
    create: { title: 'Ship', projectId, targetDate: '2028-02-29' },
    made: { status: 'active', progress: 0, targetDate: '2028-02-29', projectId },
    changes: [
      [
        { progress: 0.5, targetDate: null, projectId: null },
        { progress: 0.5, targetDate: undefined, projectId: undefined },
      ],
    ],
  },
  task: {
    prefix: 'tsk',
    create: { title: 'Write', dueAt: '2026-12-01T09:00:00Z' },
    made: { status: 'todo', priority: 'normal', dueAt: '2026-12-01T09:00:00.000Z' },
    changes: [
      [
        { status: 'in_progress', dueAt: '2026-12-02T09:00:00.0Z' },
        { status: 'in_progress', dueAt: '2026-12-02T09:00:00.000Z' },
      ],
      [{ dueAt: null }, { dueAt: undefined }],
    ],
    gone: [
      ['get_task_document', {}],
      ['update_task_document', { content: '' }],
    ],
  },
  document: {
    prefix: 'doc',
    create: { title: 'Notes', content: '# A\n\tß 🦊', tags: ['x', 'y', 'x'] },
    made: { content: '# A\n\tß 🦊', tags: ['x', 'y'] },
    changes: [
      [
        { content: '', tags: ['y', 'y'] },
        { content: '', tags: ['y'], title: 'Notes' },
      ],
    ],
    long: 'content',
  },
  artifact: {
    prefix: 'art',
    create: { name: 'a', mimeType: 'text/plain', content: 'x' },
    made: { content: 'x', sizeBytes: 1 },
    changes: [
      [
        { name: 'z', mimeType: 'text/csv' },
        { name: 'z', mimeType: 'text/csv', content: 'x' },
      ],
    ],
    long: 'content',
  },
  database: {
    prefix: 'dbs',
    create: {
      name: 'Leads',
      columns: columns.map(({ required, ...column }) => (required ? { ...column, required } : column)),
    },
    made: { columns },
    changes: [[{ name: 'Deals' }, { name: 'Deals' }]],
  },
  record: {
    prefix: 'rec',
    place: { databaseId },
    create: { values: { Name: 'Ada', 'Deal size': 1.5, Won: null, 'Met at': '2026-03-01T10:00:00Z' } },
    made: { values: { Name: 'Ada', 'Deal size': 1.5, 'Met at': '2026-03-01T10:00:00.000Z' } },
    changes: [
      [
        { values: { Won: true, 'Deal size': null } },
        { values: { Name: 'Ada', Won: true, 'Met at': '2026-03-01T10:00:00.000Z' } },
      ],
    ],
  },
  report: {
    prefix: 'rep',
    create: { title: 'R', query: { tool: 'list_skills', arguments: { limit: 5 } }, description: 'd' },
    made: { visualization: 'table', query: { tool: 'list_skills', arguments: { limit: 5 } } },
    changes: [
      [
        { description: null, visualization: 'number', query: { tool: 'list_agents' } },
        { description: undefined, visualization: 'number', query: { tool: 'list_agents', arguments: {} } },
      ],
    ],
    gone: [['get_report', { render: true }]],
  },
  flow: {
    prefix: 'flw',
    create: { name: 'A flow', steps: [{ id: 'one', tool: 'list_agents' }] },
    made: {
      enabled: true,
      trigger: { kind: 'manual' },
      steps: [
        { id: 'one', tool: 'list_agents', arguments: {}, onError: 'stop', retry: { attempts: 1, delayMs: 1000 } },
      ],
    },
    changes: [
      [
        { enabled: false, description: 'd' },
        { enabled: false, description: 'd' },
      ],
      [{ description: null }, { description: undefined }],
    ],
  },
};

/** The members of the record that are expected, in their order, are as expected. */
function assertHas(record: Members, expected: Members): void {
  const shown = Object.keys(expected).map((name) => [name, record[name]]);
  assert.equal(JSON.stringify(shown), JSON.stringify(Object.entries(expected)));
}

describe('a record', () => {
  for (const [kind, { prefix, place = {}, create, made, changes, long = '', gone = [] }] of Object.entries(kinds)) {
    it(`of the kind ${kind} lives from create to delete`, async () => {
      const first = await must(`create_${kind}`, { ...place, ...create });
      assert.match(first.id, new RegExp(`^${prefix}_[0-9a-z]{26}$`));
      assertHas(first, { ...made, revision: 1 });
      const one = { ...place, id: first.id };
      assert.deepEqual(await must(`get_${kind}`, one), first);
      let last = first;
      for (const [change, changed] of changes) {
        const stale = { ...one, ...change, expectedRevision: last.revision };
        last = await must(`update_${kind}`, stale);
        assertHas(last, { ...changed, revision: stale.expectedRevision + 1 });
        assert.deepEqual(await must(`update_${kind}`, { ...one, ...change }), last, 'the same again changes nothing');
        const { code, currentRevision } = await refused(`update_${kind}`, stale);
        assert.deepEqual([code, currentRevision], ['conflict', last.revision]);
      }
      assert.deepEqual(await must(`get_${kind}`, one), last);
      const { [long]: _, ...listed } = last;
      assert.deepEqual((await must(`list_${kind}s`, { ...place, limit: 1 })).data, [listed]);

      if ('expectedRevision' in (catalog.get(`delete_${kind}`)?.tool.input.shape ?? {})) {
        assert.equal(await codeOf(`delete_${kind}`, { ...one, expectedRevision: last.revision - 1 }), 'conflict');
      }
      assert.deepEqual(await must(`delete_${kind}`, one), {});
      const [change] = changes[0] ?? [{}];
      const all = [[`get_${kind}`, {}], [`update_${kind}`, change], [`delete_${kind}`, {}], ...gone] as const;
      for (const [tool, input] of all) assert.equal(await codeOf(tool, { ...one, ...input }), 'not_found', tool);
      assert.ok(!pluck((await must(`list_${kind}s`, place)).data, 'id').includes(first.id));
    });
  }
});
