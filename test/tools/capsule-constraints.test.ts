import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { recall } from '../../tools/agents/run/recall.ts';
import { catalog } from '../../tools/catalog.ts';
import { actingFor } from '../../tools/core/access/agent-principal.ts';
import { reachOfCapsule } from '../../tools/core/access/capsule-principal.ts';
import type { Principal } from '../../tools/core/access/principal.ts';
import { mayCall } from '../../tools/core/access/reach.ts';
import { subjectsIn } from '../../tools/core/access/subjects.ts';
import { kinds } from '../../tools/kinds.ts';
import { rounds } from '../support/full.ts';
import { fc } from '../support/property.ts';
import { openTestRegistry, principalOf } from '../support/registry.ts';
import { KINDS, type Kind, makeWorld } from './capsule-world.ts';

const admin = principalOf({ type: 'api-key', id: 'key_admin', scopes: ['admin'] });
// biome-ignore lint/suspicious/noExplicitAny: tests look into outputs freely
type Output = any;

const world = await openTestRegistry();
const records = await makeWorld(async (tool, input) => {
  const answer = await world.call(admin, tool, input);
  if ('error' in answer) throw new Error(`${tool}: ${JSON.stringify(answer.error)}`);
  return answer.output as Output;
});

type Constraints = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

function capsule(allowedTools: readonly string[], constraints: Constraints = {}): Principal {
  const definition = { name: 'test', allowedTools: [...allowedTools], deniedTools: [], constraints };
  const reach = reachOfCapsule(definition, catalog);
  return { type: 'capsule', id: 'cap_test', name: 'test', scopes: [], ownerId: 'usr_owner', ...reach };
}

async function outcome(principal: Principal, tool: string, input: object): Promise<{ code: string; output: Output }> {
  const answer = await world.call(principal, tool, input);
  return 'error' in answer ? { code: answer.error.code, output: undefined } : { code: 'ok', output: answer.output };
}

/** The input without what is fixed; undefined where that is another record than the one asked for. */
function open(input: Readonly<Record<string, unknown>>, fixed: Readonly<Record<string, unknown>> = {}) {
  const given = Object.entries(input).filter(([name]) => !Object.hasOwn(fixed, name));
  const isOther = Object.entries(input).some(
    ([name, value]) => name in fixed && NAMING.includes(name) && fixed[name] !== value,
  );
  return isOther ? undefined : Object.fromEntries(given);
}
const NAMING = ['id', 'databaseId', 'entityType', 'entityId', 'agent'];

/** The records of the kind that calls of the tool show, or could change: a stale revision is noticed behind every check of access. */
async function reachOf(principal: Principal, tool: string, kind: Kind, constraints: Constraints): Promise<Set<string>> {
  const fixed = constraints[tool];
  const reached = new Set<string>();
  const call = async (input: Readonly<Record<string, unknown>>) => {
    const given = open(input, fixed);
    return given ? outcome(principal, tool, given) : { code: 'other', output: undefined };
  };
  const { list = [], one = [], change = [] } = kind;
  if (tool === 'search') {
    for (const { type, id } of (await call({ q: 'common', limit: 100 })).output?.data ?? [])
      if (type === kind.type) reached.add(id);
    return reached;
  }
  if (list.includes(tool)) {
    for (const input of kind.listInputs?.(records) ?? [{}]) {
      const asked = { ...input, ...(tool === 'search_memories' && { q: 'common' }), limit: 100 };
      let page = await call(asked);
      for (let pages = 0; page.output && pages < 50; pages += 1) {
        for (const { id } of page.output.data) reached.add(id);
        if (!page.output.nextCursor || fixed?.cursor !== undefined) break;
        page = await call({ ...asked, cursor: page.output.nextCursor });
      }
    }
    return reached;
  }
  for (const record of records[kind.type] ?? []) {
    const naming = kind.naming?.(record) ?? { id: record.id };
    const history = { entityType: kind.entityType, entityId: record.id };
    if (one.includes(tool) && (await call(naming)).code === 'ok') reached.add(record.id);
    if (change.includes(tool)) {
      const { code } = await call({ ...naming, ...kind.changes?.[tool], expectedRevision: 999_999 });
      assert.ok(['conflict', 'forbidden', 'not_found', 'other'].includes(code), `${tool}: ${code}`);
      if (code === 'conflict') reached.add(record.id);
    }
    if (kind.entityType && tool === 'list_versions' && (await call(history)).code === 'ok') reached.add(record.id);
    if (kind.entityType && tool === 'restore_version') {
      const { code } = await call({ ...history, versionId: record.versionId ?? '', expectedRevision: 999_999 });
      if (code === 'conflict') reached.add(record.id);
    }
  }
  return reached;
}

const ACROSS = ['search', 'list_versions', 'restore_version'];
const reads = ({ list = [], one = [] }: Kind) => [...list, ...one];

/** Tools about a kind, and the arguments that can be fixed for some of them. */
const scenarios = fc.constantFrom(...KINDS).chain((kind) => {
  const own = [...reads(kind), ...(kind.change ?? [])];
  const tools = fc.subarray([...own, ...(kind.others ?? []), ...ACROSS], { minLength: 2 });
  const fixing = fc.array(fc.tuple(fc.nat(), fc.nat(), fc.boolean()), { minLength: 1, maxLength: 3 });
  return fc.record({ kind: fc.constant(kind), tools, fixing });
});

function constraintsFor(kind: Kind, tools: readonly string[], fixing: readonly (readonly [number, number, boolean])[]) {
  const chosen = fixing.map(([which, value, more]) => {
    const tool = tools[which % tools.length] ?? '';
    const choices = kind.fixable(tool, records);
    const fixed = {
      ...choices[value % Math.max(1, choices.length)],
      ...(more && choices[(value + 1) % choices.length]),
    };
    return [tool, fixed] as const;
  });
  return Object.fromEntries(chosen.filter(([, fixed]) => Object.keys(fixed).length > 0));
}

describe('whatever the tools of a capsule are and whatever is fixed', () => {
  it('no call shows a record that a constrained tool could not show, or changes one that a constrained tool could not change', async () => {
    let held = 0;
    await fc.assert(
      fc.asyncProperty(scenarios, async ({ kind, tools, fixing }) => {
        const constraints = constraintsFor(kind, tools, fixing);
        const principal = capsule(tools, constraints);
        const reached = new Map<string, Set<string>>();
        for (const tool of tools) reached.set(tool, await reachOf(principal, tool, kind, constraints));
        const bounds = tools.filter(
          (tool) => constraints[tool] && !ACROSS.includes(tool) && !kind.others?.includes(tool),
        );
        for (const bound of bounds) {
          const isRead = reads(kind).includes(bound);
          const allowed = reached.get(bound) ?? new Set();
          // A tool of another shape than the constrained one: what is fixed for it says itself which records it is about.
          for (const tool of tools.filter((name) => !constraints[name])) {
            const changes = kind.change?.includes(tool) || tool === 'restore_version';
            if (!isRead && !changes) continue;
            for (const id of reached.get(tool) ?? []) {
              assert.ok(
                allowed.has(id),
                `${tool} reaches ${id}, ${bound} does not: ${JSON.stringify({ tools, constraints })}`,
              );
            }
            held += 1;
          }
        }
      }),
      { numRuns: rounds(120, 2000) },
    );
    assert.ok(held > 100, `only ${held} pairs were looked at`);
  });

  it('what is fixed is still reached by the tool it is fixed for', async () => {
    for (const kind of KINDS) {
      for (const tool of [...reads(kind), ...(kind.change ?? [])]) {
        const alone = await reachOf(capsule([tool]), tool, kind, {});
        for (const fixed of kind.fixable(tool, records)) {
          const constraints = { [tool]: fixed };
          const more = [tool, ...reads(kind), ...(kind.change ?? []), ...ACROSS];
          const [one, amongOthers] = [capsule([tool], constraints), capsule(more, constraints)];
          const reached = await reachOf(one, tool, kind, constraints);
          assert.deepEqual(
            await reachOf(amongOthers, tool, kind, constraints),
            reached,
            `${tool} ${JSON.stringify(fixed)}`,
          );
          for (const id of reached) assert.ok(alone.has(id));
        }
      }
    }
  });
});

describe('what is fixed for a tool of a capsule', () => {
  const idOf = (type: string, at = 0) => records[type]?.[at]?.id ?? '';
  const codeOf = async (principal: Principal, tool: string, input: object) =>
    (await outcome(principal, tool, input)).code;

  it('holds for search: of documents of one project no others are found', async () => {
    const projectId = idOf('project');
    const held = capsule(['list_documents', 'search'], { list_documents: { projectId } });
    const { output } = await outcome(held, 'search', { q: 'common' });
    assert.deepEqual([output.facets, output.data[0].id], [{ document: 1 }, idOf('document')]);
  });

  it('holds for versions of other records, and the record itself keeps its own', async () => {
    const id = idOf('agent');
    const tools = ['get_agent', 'update_agent', 'list_versions', 'restore_version'];
    const held = capsule(tools, { get_agent: { id }, update_agent: { id } });
    const history = (at: number) => ({ entityType: 'agent', entityId: idOf('agent', at) });
    const restore = (at: number) => ({ ...history(at), versionId: records.agent?.[at]?.versionId });
    assert.equal(await codeOf(held, 'list_versions', history(0)), 'ok');
    assert.equal(await codeOf(held, 'restore_version', restore(0)), 'ok');
    assert.equal(await world.codeOf(held, 'list_versions', history(1)), 'forbidden');
    assert.equal(await codeOf(held, 'restore_version', restore(1)), 'forbidden');
  });

  it('limits what others do by whether it reads, changes or sets to work', async () => {
    const id = idOf('agent');
    const isLimited = async (bound: string, other: string) => {
      const held = capsule([bound, other], { [bound]: bound === 'invoke_agent' ? { agent: id } : { id } });
      const tool = catalog.get(other)?.tool;
      assert.ok(tool);
      const may = (agent: string) => mayCall(held, tool, { id: agent, agent }, subjectsIn(world.store, kinds));
      assert.equal(await may(id), true, `${other} beside ${bound}`);
      return !(await may(idOf('agent', 1)));
    };
    const limited: string[] = [];
    const tools = ['get_agent', 'update_agent', 'delete_agent', 'invoke_agent'];
    for (const bound of tools)
      for (const other of tools)
        if (bound !== other && (await isLimited(bound, other))) limited.push(`${bound} ${other}`);
    assert.deepEqual(limited, [
      'get_agent update_agent',
      'get_agent delete_agent',
      'get_agent invoke_agent',
      'update_agent delete_agent',
      'delete_agent update_agent',
    ]);
    const talking = capsule(['invoke_agent', 'send_chat_message'], { invoke_agent: { agent: id } });
    const send = catalog.get('send_chat_message')?.tool;
    assert.ok(send);
    const mayTalk = (at: number) =>
      mayCall(talking, send, { agentId: idOf('agent', at) }, subjectsIn(world.store, kinds));
    assert.deepEqual([await mayTalk(0), await mayTalk(1)], [true, false]);
  });

  it('takes no record from others where it only shapes the answer', async () => {
    for (const fixed of [{ limit: 1 }, { includeTotal: true }]) {
      const held = capsule(['list_agents', 'get_agent'], { list_agents: fixed });
      for (const { id } of records.agent ?? []) assert.equal(await codeOf(held, 'get_agent', { id }), 'ok');
    }
  });

  it('also limits what another tool reads on its way to what is fixed for that', async () => {
    const [mine, other] = [idOf('thread'), idOf('thread', 1)];
    const sending = (threadId: string) => {
      const held = capsule(['get_thread', 'send_chat_message'], {
        get_thread: { id: mine },
        send_chat_message: { threadId },
      });
      return codeOf(held, 'send_chat_message', { message: 'hello' });
    };
    assert.deepEqual([await sending(mine), await sending(other)], ['conflict', 'forbidden'], 'nobody answers in it');
  });

  it('is not undone by a restore', async () => {
    const held = capsule(['update_agent', 'create_agent', 'restore_version'], { update_agent: { maxSteps: 5 } });
    const versionId = records.agent?.[0]?.versionId;
    const restore = { entityType: 'agent', entityId: idOf('agent'), versionId };
    assert.equal(await codeOf(held, 'restore_version', restore), 'forbidden');
  });

  it('opens no record of another kind that has the same grants', async () => {
    const [taskId, databaseId, threadId] = [idOf('task'), idOf('database'), idOf('thread')];
    const fixed = { get_task: { id: taskId }, get_database: { id: databaseId }, get_thread: { id: threadId } };
    const held = capsule([...Object.keys(fixed), 'search', 'list_versions'], fixed);
    const { output } = await outcome(held, 'search', { q: 'common' });
    assert.deepEqual(Object.keys(output.facets).sort(), ['database', 'task', 'thread']);
    assert.equal(await codeOf(held, 'list_versions', { entityType: 'task-document', entityId: taskId }), 'forbidden');
  });

  it('holds for what another tool changes on the way', async () => {
    const [mine, other] = [idOf('memory'), idOf('memory', 1)];
    const held = capsule(['create_memory', 'update_memory'], { update_memory: { id: mine } });
    const supersede = (supersedes: string) => codeOf(held, 'create_memory', { content: 'new', supersedes });
    assert.equal(await supersede(other), 'invalid_input');
    assert.equal(await supersede(mine), 'ok');
    const purging = capsule(['purge_record', 'get_document'], { get_document: { id: idOf('document') } });
    const purge = (at: number) => codeOf(purging, 'purge_record', { entityType: 'document', id: idOf('document', at) });
    assert.equal(await purge(1), 'not_found');
    assert.equal((await world.store.documents.get(idOf('document', 1)))?.title, 'common');
  });

  it('holds for records that another one would name', async () => {
    const [mine, other] = [idOf('project'), idOf('project', 1)];
    const held = capsule(['get_project', 'create_document', 'get_skill', 'create_agent'], {
      get_project: { id: mine },
      get_skill: { id: idOf('skill') },
    });
    const create = (projectId: string) => codeOf(held, 'create_document', { title: 'x', content: 'x', projectId });
    assert.deepEqual([await create(mine), await create(other)], ['ok', 'invalid_input']);
    const give = (name: string, at: number) =>
      codeOf(held, 'create_agent', { name, displayName: name, skillIds: [idOf('skill', at)] });
    assert.deepEqual([await give('with its own', 0), await give('with another', 1)], ['ok', 'invalid_input']);
    const talking = capsule(['get_agent', 'create_thread', 'delete_skill'], { get_agent: { id: idOf('agent') } });
    const talk = (at: number) => codeOf(talking, 'create_thread', { title: 'x', agentIds: [idOf('agent', at)] });
    assert.deepEqual([await talk(0), await talk(1)], ['ok', 'invalid_input']);
    const { id: skillId } = (await outcome(admin, 'create_skill', { name: 'used' })).output;
    const input = { name: 'user of it', displayName: 'U', skillIds: [skillId] };
    assert.equal(await codeOf(admin, 'create_agent', input), 'ok');
    const refused = await world.refused(talking, 'delete_skill', { id: skillId });
    assert.match(refused.error, /^The skill is used by agents; take it out/);
  });

  it('holds for agents that it invokes, and for the memories in their prompts', async () => {
    const id = idOf('document');
    const held = capsule(['get_document', 'search', 'list_memories'], {
      get_document: { id },
      list_memories: { scope: 'agent' },
    });
    const agent = { id: idOf('agent'), name: 'ada', tools: ['get_document', 'search', 'list_versions'] };
    const acting = actingFor(held, agent, catalog);
    const { output } = await outcome(acting, 'search', { q: 'common' });
    assert.deepEqual(output.facets, { document: 1 });
    assert.equal((await outcome(acting, 'get_document', {})).output.id, id);
    const whole = await world.store.agents.get(idOf('agent', 1));
    assert.ok(whole);
    const recalled = await recall(world.store, {
      agent: whole,
      caller: held,
      threadId: undefined,
      server: {},
      text: 'common',
    });
    assert.ok(recalled.length > 0 && recalled.every(({ scope }) => scope === 'agent'));
    const other = capsule(['list_memories'], { list_memories: { agentId: idOf('agent') } });
    const none = await recall(world.store, {
      agent: whole,
      caller: other,
      threadId: undefined,
      server: {},
      text: 'common',
    });
    assert.deepEqual(none, [], 'memories of another agent');
    const unpinned = capsule(['list_memories'], { list_memories: { pinned: false } });
    const found = await recall(world.store, {
      agent: whole,
      caller: unpinned,
      threadId: undefined,
      server: {},
      text: 'common',
    });
    assert.ok(found.length > 0 && found.every(({ pinned }) => !pinned));
    const one = capsule(['get_memory'], { get_memory: { id: idOf('memory', 2) } });
    const [only, ...rest] = await recall(world.store, {
      agent: whole,
      caller: one,
      threadId: undefined,
      server: {},
      text: 'common',
    });
    assert.deepEqual([only?.id, rest], [idOf('memory', 2), []]);
  });

  it('is explained where it narrows other tools, and leaves lists, creations and its own calls as they are', async () => {
    const tools = ['list_users', 'get_user', 'create_document', 'get_document', 'list_documents', 'search'];
    const fixed = { list_users: { search: '@example.com' }, list_documents: { projectId: idOf('project') } };
    const draft = { allowedTools: tools, constraints: fixed };
    const { output } = await outcome(admin, 'preview_capsule', { draft });
    const judged = Object.fromEntries(output.entries.map(({ entry, tools: [one] }: Output) => [entry, one]));
    assert.match(judged.get_user.rule, /The arguments fixed for list_users \(search\) leave get_user no record/);
    assert.equal(judged.get_user.served, false);
    assert.match(
      judged.get_document.narrowed,
      /limited to the records that the arguments fixed for list_documents \(projectId\)/,
    );
    assert.match(
      judged.search.narrowed,
      /^search is limited to .* for list_users \(search\) and list_documents \(projectId\)/,
    );
    for (const whole of ['list_users', 'create_document', 'list_documents']) {
      assert.deepEqual(judged[whole], { name: whole, served: true, rule: 'allowed by name' });
    }
  });
});
