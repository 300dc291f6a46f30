import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { catalog } from '../../tools/catalog.ts';
import { inputFor } from '../contract/inputs.ts';
import { askMcp, callsOf, makeKey } from '../support/calls.ts';
import { startTestServer } from '../support/server.ts';

const server = await startTestServer();
const { must, call } = callsOf(server);
const MARKER = 'quokkamarker';

/** What the reader may not see: ids of the records that were made in the restricted thread. */
const planted: Record<'thread' | 'memory' | 'artifact' | 'gone' | 'deleted' | 'run' | 'message', string> = {
  ...{ thread: '', memory: '', artifact: '', gone: '', deleted: '', run: '', message: '' },
};
let [reader, insider, narrow] = ['', '', ''];

/** A key that may read everything, and is no administrator. */
async function readerOfAll(): Promise<string> {
  const grants = catalog.entries
    .filter(({ tool }) => tool.annotations.readOnlyHint)
    .flatMap(({ tool: { access } }) => ('among' in access ? access.among : [access]).flatMap(({ grant }) => grant))
    .map((grant) => grant.split(':').slice(0, 2).join(':'));
  return makeKey(server, { scopes: [], grants: [...new Set(['audit:read', ...grants])].filter(isGrant) });
}

const isGrant = (text: string) => /^[a-z-]+:read$/.test(text);

reader = await readerOfAll();
narrow = await makeKey(server, { scopes: [], grants: ['audit:read'] });
const member = await must('create_api_key', { name: 'member', scopes: ['write'] });
insider = member.secret;
await must('create_agent', { name: 'maker', displayName: 'Maker', tools: ['create_skill', 'create_document'] });
const { id: thread } = await must('create_thread', { title: `${MARKER} title`, visibility: 'restricted' });
const entries = [{ principal: { type: 'api-key', id: member.id }, role: 'editor' }];
await must('add_thread_access', { id: thread, entries });
await must('update_thread', { id: thread, title: `${MARKER} again` });
await must('send_chat_message', { threadId: thread, message: `${MARKER} text` }, insider);
await must('send_chat_message', {
  threadId: thread,
  agentId: 'maker',
  message: `/create_skill {"name": "x", "${MARKER}": 1}`,
});
await must('send_chat_message', {
  threadId: thread,
  agentId: 'maker',
  message: `/create_skill {"name": "${MARKER} skill", "description": 3}`,
});
const memory = await must('create_memory', { content: `${MARKER} memory`, threadId: thread, scope: 'thread' }, insider);
const gone = await must('create_memory', { content: `${MARKER} gone`, threadId: thread, scope: 'thread' });
await must('delete_memory', { id: gone.id });
const artifact = await must('create_artifact', {
  name: MARKER,
  mimeType: 'text/plain',
  content: `${MARKER} `.repeat(900),
  threadId: thread,
});
await call(
  'update_artifact',
  {
    id: artifact.id,
    content: `${MARKER} stale`,
    expectedRevision: 9,
  },
  insider,
);
await call(
  'create_memory',
  {
    content: `${MARKER} refused`,
    threadId: thread,
    expiresAt: '2000-01-01T00:00:00Z',
  },
  insider,
);
await call(
  'create_thread',
  {
    title: `${MARKER} never`,
    agentIds: ['agt_00000000000000000000000000'],
  },
  insider,
);
await must('call_tool', { name: 'update_thread', arguments: { id: thread, title: `${MARKER} through` } });
const { id: deleted } = await must('create_thread', { title: `${MARKER} deleted`, visibility: 'restricted' });
await must('delete_thread', { id: deleted });
Object.assign(planted, {
  thread,
  memory: memory.id,
  artifact: artifact.id,
  gone: gone.id,
  deleted,
});
const [{ id: message }] = (await must('list_messages', { id: thread })).data;
const [{ id: run }] = (await must('list_agent_runs', { threadId: thread })).data;
Object.assign(planted, { message, run });
const open = (await must('create_thread', { title: 'plain title' })).id;
await server.store.audit.flush();

// biome-ignore lint/suspicious/noExplicitAny: tests look into entries freely
async function entriesFor(key: string, filters: object = {}): Promise<any[]> {
  return (await must('list_audit_entries', { limit: 100, ...filters }, key)).data;
}

describe('arguments about a record that the reader may not see', () => {
  it('are left out of the audit log, but for ids, and nothing else is', async () => {
    for (const key of [reader, narrow]) {
      const entries = await entriesFor(key);
      assert.ok(
        !JSON.stringify(entries).includes(MARKER),
        JSON.stringify(entries.filter((entry) => JSON.stringify(entry).includes(MARKER))),
      );
      const about = entries.filter(({ arguments: { id, threadId }, recordIds = [] }) =>
        [id, threadId, ...recordIds].some((each) => Object.values(planted).includes(each)),
      );
      assert.ok(about.length > 8 && about.every(({ withheld }) => withheld === true));
      const { id } = about.find(({ tool }) => tool === 'update_thread')?.arguments ?? {};
      assert.equal(id, planted.thread);
      const plain = entries.find(({ recordIds = [] }) => recordIds.includes(open));
      assert.deepEqual([plain?.arguments, plain?.withheld], [{ title: 'plain title' }, undefined]);
    }
  });

  it('are shown to an administrator, and to whoever may see the thread', async () => {
    assert.match(JSON.stringify(await entriesFor(server.adminKey)), new RegExp(`${MARKER} text`));
    const entries = [
      { principal: { type: 'api-key', id: (await must('get_current_principal', {}, narrow)).id }, role: 'viewer' },
    ];
    await must('add_thread_access', { id: planted.thread, entries });
    const shown = JSON.stringify(await entriesFor(narrow));
    for (const text of ['title', 'again', 'text', 'memory', 'gone', 'skill'])
      assert.ok(shown.includes(`${MARKER} ${text}`), text);
    assert.ok(!shown.includes(`${MARKER} deleted`), 'nobody knows any more who saw it');
    await must('remove_thread_access', {
      id: planted.thread,
      principalType: 'api-key',
      principalId: entries[0]?.principal.id,
    });
    assert.ok(!JSON.stringify(await entriesFor(narrow)).includes(MARKER));
  });

  it('are found by no filter and in no total', async () => {
    for (const filters of [{ recordId: MARKER }, { requestId: MARKER }, { principal: MARKER }, { tool: MARKER }]) {
      const { data, total } = await must('list_audit_entries', { ...filters, includeTotal: true }, reader);
      assert.deepEqual([data, total], [[], 0]);
    }
    const [{ id }] = await entriesFor(reader, { recordId: planted.memory });
    assert.ok(!JSON.stringify(await entriesFor(reader, { id })).includes(MARKER));
  });

  it('are in no answer of any tool that reads, nor in a resource', async () => {
    let answered = 0;
    for (const { tool } of catalog.entries) {
      if (tool.doorOnly || !tool.annotations.readOnlyHint) continue;
      for (const input of inputsOf(tool.name)) {
        if (!tool.input.safeParse(input).success) continue;
        const answer = await call(tool.name, input, reader);
        if ('output' in answer) answered += 1;
        assert.ok(
          !JSON.stringify(answer).includes(MARKER),
          `${tool.name} ${JSON.stringify(input)} ${JSON.stringify(answer)}`,
        );
      }
    }
    assert.ok(answered > 50, `${answered} answers`);
    const resources = Object.entries({ thread: 'thread', memory: 'memory', artifact: 'artifact' } as const);
    for (const [scheme, which] of resources) {
      const { text } = await mcp('resources/read', { uri: `${scheme}://${planted[which]}` });
      assert.ok(!text.includes(MARKER));
    }
    assert.ok(!(await mcp('resources/list')).text.includes(MARKER));
  });
});

/** The usual input, none, and those that name what was planted; a marker is searched for in parts, as it is part of the answer otherwise. */
function inputsOf(tool: string): object[] {
  const versions = ['memory', 'artifact'].flatMap((entityType) =>
    [planted.memory, planted.artifact, planted.gone].map((entityId) => ({ entityType, entityId })),
  );
  const ids = Object.values(planted);
  return [
    ...[
      {},
      inputFor(tool),
      { limit: 100, includeTotal: true },
      { q: MARKER.slice(0, 6) },
      { threadId: planted.thread },
    ],
    ...ids.flatMap((id) => [{ id }, { messageId: id }, { id: planted.thread, messageId: id }]),
    ...(tool.includes('version') ? versions : []),
  ];
}

async function mcp(method: string, params: object = {}) {
  return { text: JSON.stringify(await askMcp(server, reader, method, params)) };
}
