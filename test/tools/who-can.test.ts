import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { callsOf, toolNames } from '../support/calls.ts';
import { startTestServer } from '../support/server.ts';

const server = await startTestServer();
const { must, codeOf, refused } = callsOf(server);

interface Row {
  readonly subject: { readonly type: string; readonly id: string; readonly name: string };
  readonly verdict: string;
  readonly rule: string;
}

async function whoCan(input: object): Promise<Row[]> {
  const rows: Row[] = [];
  let cursor: string | undefined;
  do {
    const page = await must('list_who_can', { ...input, limit: 3, ...(cursor && { cursor }) });
    rows.push(...page.data);
    cursor = page.nextCursor ?? undefined;
  } while (cursor);
  return rows;
}

const rowOf = (rows: readonly Row[], id: string) => rows.find(({ subject }) => subject.id === id);

const made: Record<string, { id: string; secret: string }> = {};
let [ada, bob, secret] = ['', '', ''];

before(async () => {
  ada = (await must('create_agent', { name: 'ada', displayName: 'Ada', tools: ['list_*', 'get_agent'] })).id;
  bob = (await must('create_agent', { name: 'bob', displayName: 'Bob' })).id;
  secret = (await must('create_thread', { title: 'Salaries' })).id;
  const rights = {
    reader: { scopes: ['read'] },
    writer: { scopes: ['write'] },
    admin: { scopes: ['admin'] },
    ofAda: { scopes: [], grants: ['agent:read:ada'] },
    ofThreads: { scopes: [], grants: ['thread'] },
    editor: { scopes: ['write'] },
    skills: { scopes: ['skills:read'] },
    gone: { scopes: ['admin'] },
  };
  for (const [name, right] of Object.entries(rights)) made[name] = await must('create_api_key', { name, ...right });
  await must('revoke_api_key', { id: made.gone?.id });
  await must('update_thread_access', { id: secret, visibility: 'restricted' });
  const entry = { principal: { type: 'api-key', id: made.editor?.id }, role: 'editor' };
  await must('add_thread_access', { id: secret, entries: [entry] });
});

describe('list_who_can', () => {
  it('names what allows each, and leaves out what cannot and what is over', async () => {
    const rows = await whoCan({ tool: 'get_agent' });
    const rule = (name: string) => rowOf(rows, made[name]?.id ?? '')?.rule;
    assert.equal(rule('reader'), 'Scope "read" satisfies "agents:read".');
    assert.equal(rule('skills'), undefined);
    assert.equal(rule('gone'), undefined);
    const some = rowOf(rows, made.ofAda?.id ?? '');
    assert.equal(some?.verdict, 'depends');
    assert.match(some?.rule ?? '', /agent:read:ada/);
    assert.equal(rowOf(rows, ada)?.rule, 'By the entry "get_agent" of its tools, for callers who may do this.');
    assert.equal(rowOf(rows, bob), undefined);
    const people = rows.filter(({ subject }) => subject.type === 'person');
    assert.ok(people.length > 0 && people.every(({ subject }) => subject.name !== subject.id));
    assert.equal(new Set(rows.map(({ subject }) => subject.id)).size, rows.length);
  });

  it('says of one record what the calls themselves answer', async () => {
    const asked = [
      ['get_agent', ada],
      ['get_agent', bob],
      ['delete_agent', bob],
      ['get_thread', secret],
      ['update_thread', secret],
      ['delete_thread', secret],
      ['list_messages', secret],
      ['get_thread_access', secret],
      ['list_versions', ada],
    ] as const;
    for (const [tool, id] of asked) {
      const rows = await whoCan({ tool, id, types: ['key'] });
      for (const [name, key] of Object.entries(made)) {
        const told = rowOf(rows, key.id)?.verdict === 'allowed';
        if (name === 'gone') {
          assert.equal(told, false);
          continue;
        }
        // A revision that does not exist: an allowed call changes nothing, and others call after it.
        const about = tool === 'list_versions' ? { entityType: 'agent', entityId: id } : { id };
        const guarded = /^(update|delete)_/.test(tool) ? { expectedRevision: 999 } : {};
        const code = await codeOf(tool, { ...about, ...guarded }, key.secret);
        const isAllowed = !['forbidden', 'not_found'].includes(code);
        assert.equal(told, isAllowed, `${tool} ${id} ${name}: ${code}`);
      }
    }
  });

  it('lists capsules by their entry, flows by their step, and apps and people by theirs', async () => {
    const capsule = await must('create_capsule', {
      name: 'one',
      status: 'live',
      allowedTools: ['get_agent'],
      constraints: { get_agent: { id: ada } },
    });
    const draft = await must('create_capsule', { name: 'draft', allowedTools: ['get_agent'] });
    const steps = [{ id: 'look', tool: 'get_agent', arguments: { id: ada } }];
    const flow = await must('create_flow', { name: 'looks', trigger: { kind: 'manual' }, steps });
    const open = await must('create_flow', {
      name: 'looks up',
      trigger: { kind: 'manual' },
      steps: [{ id: 'look', tool: 'get_agent', arguments: { id: '{{ input.id }}' } }],
    });
    const rows = await whoCan({ tool: 'get_agent', id: 'ada' });
    assert.match(rowOf(rows, capsule.capsule?.id ?? capsule.id)?.rule ?? '', /By the entry "get_agent" of its tools/);
    assert.equal(rowOf(rows, draft.capsule?.id ?? draft.id), undefined);
    assert.match(rowOf(rows, flow.id)?.rule ?? '', /By its step "look", with the rights of /);
    assert.equal(rowOf(rows, open.id)?.verdict, 'depends');
    const others = await whoCan({ tool: 'get_agent', id: bob });
    assert.equal(rowOf(others, capsule.capsule?.id ?? capsule.id), undefined);
    assert.equal(rowOf(others, flow.id), undefined);
    assert.equal(rowOf(others, open.id)?.verdict, 'depends');
  });

  it('is for full access alone, and says what is wrong', async () => {
    assert.equal(await codeOf('list_who_can', { tool: 'get_agent' }, made.writer?.secret), 'forbidden');
    assert.equal(
      await codeOf('list_who_can', { tool: 'get_agent', id: 'agt_00000000000000000000000000' }),
      'not_found',
    );
    const unknown = { get_document: 'doc_none', get_agent: 'nobody', revoke_api_key: 'key_none', get_skill: 'writing' };
    for (const [tool, id] of Object.entries(unknown))
      assert.equal(await codeOf('list_who_can', { tool, id }), 'not_found');
    assert.ok((await whoCan({ tool: 'get_user', id: 'u_1' })).length > 0, 'ids of imported users can be any');
    assert.match((await refused('list_who_can', { tool: 'list_skills', id: ada })).error, /not about one record/);
    assert.match((await refused('list_who_can', { tool: 'get_agnt' })).error, /get_agent/);
  });
});

describe('view_as', () => {
  it('lists what the holder itself is shown', async () => {
    for (const [name, key] of Object.entries(made).filter(([each]) => each !== 'gone')) {
      const { data, subject } = await must('view_as', { keyId: key.id });
      assert.deepEqual(subject, { type: 'key', id: key.id, name });
      const shown = await toolNames(server, key.secret);
      assert.deepEqual(
        data.map(({ tool }: { tool: string }) => tool),
        shown,
      );
    }
  });

  it('takes exactly one, that can call something now', async () => {
    assert.equal(await codeOf('view_as', { keyId: made.gone?.id }), 'not_found');
    assert.equal(await codeOf('view_as', {}), 'invalid_input');
    assert.equal(await codeOf('view_as', { keyId: 'a', agentId: 'b' }), 'invalid_input');
    const { data } = await must('view_as', { agentId: ada });
    const names = data.map(({ tool }: { tool: string }) => tool);
    assert.ok(names.includes('get_agent') && !names.includes('update_agent') && !names.includes('list_api_keys'));
  });
});
