import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { catalog } from '../../tools/catalog.ts';
import { callsOf, makeKey, rest } from '../support/calls.ts';
import { rounds } from '../support/full.ts';
import { pluck } from '../support/pluck.ts';
import { fc } from '../support/property.ts';
import { startTestServer } from '../support/server.ts';
import { writing } from '../support/writing.ts';

const server = await startTestServer();
const { must, refused, call } = callsOf(server);
const make = (input: object = {}) => must('create_capsule', { name: 'test', ...input });

const namesIn = ({ tools }: { tools: { name: string }[] }) => tools.map(({ name }) => name);

describe('create_capsule', () => {
  it('makes a draft without tools if nothing else is given, and shows its token this once', async () => {
    const { token, ...made } = await make();
    assert.match(token, /^cpt_[0-9A-Za-z]{8}_[0-9A-Za-z]{43}$/);
    assert.equal(made.tokenPrefix, token.split('_')[1]);
    assert.deepEqual([made.status, made.allowedTools, made.deniedTools, made.callCount], ['draft', [], [], 0]);
    assert.deepEqual(await must('get_capsule', { id: made.id }), made);
    const seen = JSON.stringify([await must('list_capsules'), await must('search', { q: 'test' })]);
    assert.ok(!seen.includes(token.slice(13)));
    const stored = await server.store.capsules.get(made.id);
    assert.ok(stored && !JSON.stringify(stored).includes(token.slice(13)));
    for (const secret of [stored.token.hash, 'tokenPrefixes', 'graceTokens']) assert.ok(!seen.includes(secret));
  });

  it('names every problem of the input at once', async () => {
    const { code, issues } = await refused('create_capsule', {
      name: 'x'.repeat(121),
      description: 'x'.repeat(2001),
      status: 'on',
      callsPerMinute: 0,
      alowedTools: [],
    });
    assert.equal(code, 'invalid_input');
    const paths = issues?.map(({ path }) => path).sort();
    assert.deepEqual(paths, ['alowedTools', 'callsPerMinute', 'description', 'name', 'status']);
  });

  it('refuses tools that manage what acts with rights, by name', async () => {
    const managing = ['API keys', 'Sessions', 'Capsules', 'Admin Users', 'Integrations'];
    const never = catalog.entries
      .filter(({ group, tool }) => managing.includes(group) && !tool.doorOnly)
      .map(({ tool }) => tool.name);
    assert.ok(never.length > 10);
    const { code, issues } = await refused('create_capsule', { name: 'x', allowedTools: never });
    assert.deepEqual([code, issues?.length], ['invalid_input', never.length]);
    assert.match(issues?.[0]?.message ?? '', /can never be in a capsule/);
  });

  it('refuses a time in the past', async () => {
    const { code } = await refused('create_capsule', { name: 'x', expiresAt: '2020-01-01T00:00:00Z' });
    assert.equal(code, 'invalid_input');
  });
});

it('a constraint of a tool that is not there is refused with similar names', async () => {
  const constraints = { get_agnet: { id: 'agt_one' } };
  const { issues } = await refused('create_capsule', { name: 'x', allowedTools: ['*_agent'], constraints });
  assert.match(issues?.[0]?.message ?? '', /no tool with this name now; similar names: get_agent/);
});

describe('warnings', () => {
  it('name entries that match nothing, with similar names, and entries that serve nothing, with the reason', async () => {
    const { warnings } = await make({
      allowedTools: ['list_agnets', 'list_skills', '*_settings', '*_api_key*', 'restore_version', 'delete_skill'],
      deniedTools: ['delete_*', 'remove_nothing'],
      constraints: { get_agent: { id: 'agt_one' } },
    });
    const about = (text: string) => warnings.find((warning: string) => warning.includes(text)) ?? '';
    assert.match(about('list_agnets'), /matches no tool now; similar names: list_agents/);
    assert.match(about('*_settings'), /adds no tool: get_settings needs admin, so it must be named/);
    assert.match(about('*_api_key'), /create_api_key can never be in a capsule/);
    const many = await make({ allowedTools: ['delete_*'], deniedTools: ['delete_*'] });
    assert.deepEqual(
      [about('*_settings'), many.warnings[0]].map((text) => text.endsWith(' and more.')),
      [false, true],
    );
    assert.match(about('restore_version'), /works on records that no other tool/);
    assert.match(about('"delete_skill"'), /delete_skill denied by delete_\*/);
    assert.match(about('remove_nothing'), /matches no tool now\.$/);
    assert.match(about('get_agent'), /fixes arguments of get_agent, which the capsule does not serve/);
    assert.equal(warnings.length, 7);
  });

  it('name entries of askFirst by which no call waits, and none that match what allowlists do not', async () => {
    const askFirst = ['updat_document', 'delete_*', 'create_api_key', 'list_approvals'];
    const { id, warnings } = await make({ allowedTools: ['update_document'], askFirst });
    assert.equal(warnings.length, 2);
    assert.match(warnings[0], /^askFirst: "updat_document" matches no tool now; similar names: update_document/);
    assert.equal(warnings[1], 'askFirst: "list_approvals" matches only tools that never ask.');
    const { warnings: drafted } = await must('preview_capsule', { id, draft: { askFirst: ['updat_document'] } });
    assert.deepEqual(drafted, warnings.slice(0, 1));
    const key = await must('create_api_key', { name: 'asks', scopes: ['write'], askFirst: ['delte_document'] });
    assert.match(key.warnings[0], /^askFirst: "delte_document" matches no tool now; similar names: delete_document/);
    const { warnings: none } = await must('create_api_key', {
      name: 'asks',
      scopes: ['write'],
      askFirst: ['delete_*'],
    });
    assert.equal(none, undefined);
  });

  it('are the same in create, get, update and preview', async () => {
    const { id, warnings } = await make({ allowedTools: ['nothing_like_it'] });
    assert.equal(warnings.length, 1);
    for (const tool of ['get_capsule', 'update_capsule', 'preview_capsule', 'rotate_capsule_token']) {
      assert.deepEqual((await must(tool, { id })).warnings, warnings, tool);
    }
  });
});

describe('preview_capsule', () => {
  it('lists the tools with fixed arguments hidden, its size, and the rule behind each entry', async () => {
    const { id } = await make({
      allowedTools: ['*_skill', 'get_agent', 'update_settings'],
      deniedTools: ['delete_*'],
      constraints: { get_agent: { id: 'agt_one' }, create_skill: { name: 'fixed' } },
    });
    const preview = await must('preview_capsule', { id });
    assert.deepEqual(namesIn(preview), ['get_agent', 'get_skill', 'create_skill', 'update_skill', 'update_settings']);
    assert.equal(preview.bytes, Buffer.byteLength(JSON.stringify({ tools: preview.tools })));
    const schemaOf = (tool: string) => preview.tools.find(({ name }: { name: string }) => name === tool).inputSchema;
    assert.deepEqual(schemaOf('get_agent').properties, {});
    assert.equal('required' in schemaOf('get_agent'), false);
    assert.ok(!('name' in schemaOf('create_skill').properties) && 'displayName' in schemaOf('create_skill').properties);
    const [globbed, named, , denied] = preview.entries;
    assert.deepEqual(
      globbed.tools.find(({ name }: { name: string }) => name === 'delete_skill'),
      { name: 'delete_skill', served: false, rule: 'denied by delete_*' },
    );
    assert.deepEqual(named.tools, [{ name: 'get_agent', served: true, rule: 'allowed by name' }]);
    assert.ok(
      denied.tools.every(({ served, rule }: { served: boolean; rule: string }) => !served && rule === 'denied'),
    );
  });

  it('shows a draft, and what changes of a capsule would come to', async () => {
    const { id } = await make({ allowedTools: ['list_agents'], deniedTools: ['list_skills'] });
    const draft = { allowedTools: ['list_agents', 'list_skills', 'list_flows'] };
    assert.deepEqual(namesIn(await must('preview_capsule', { draft })), draft.allowedTools);
    assert.deepEqual((await must('preview_capsule', { draft: { name: 'empty' } })).entries, []);
    assert.deepEqual(namesIn(await must('preview_capsule', { id, draft })), ['list_agents', 'list_flows']);
    assert.equal((await refused('preview_capsule', {})).code, 'invalid_input');
    assert.equal((await refused('preview_capsule', { id: 'cap_none' })).code, 'not_found');
  });

  it('says what a draft would gain, lose and limit, in tools and not in globs', async () => {
    const constraints = { list_documents: { tag: 'public' } };
    const { id } = await make({ allowedTools: ['*_skill', 'list_documents'], deniedTools: ['delete_skill'] });
    const draft = { allowedTools: ['get_skill', 'list_skills', 'list_documents'], deniedTools: [], constraints };
    assert.deepEqual((await must('preview_capsule', { id, draft })).changes, {
      gained: ['list_skills'],
      lost: ['create_skill', 'update_skill'],
      limited: ['list_documents'],
    });
    const same = await must('preview_capsule', { id, draft: { allowedTools: ['*_skill', 'list_documents'] } });
    assert.deepEqual(same.changes, { gained: [], lost: [], limited: [] });
    for (const alone of [{ id }, { draft }]) assert.equal((await must('preview_capsule', alone)).changes, undefined);
  });

  it('takes as a draft the body that create_capsule takes, and that of update_capsule', async () => {
    const body = {
      name: 'whole',
      description: 'd',
      allowedTools: ['list_agents'],
      deniedTools: ['list_skills'],
      status: 'live',
      expiresAt: new Date(Date.now() + 60_000).toISOString(),
      callsPerMinute: 5,
      integrationAccounts: 'owner',
      constraints: { list_agents: { limit: 1 } },
      askFirst: ['list_agents'],
    };
    const bodyOf = (tool: string) => Object.keys(catalog.get(tool)?.tool.input.shape ?? {});
    assert.deepEqual(Object.keys(body).sort(), bodyOf('create_capsule').sort());
    const previewed = await must('preview_capsule', { draft: body });
    const { id } = await must('create_capsule', body);
    assert.deepEqual(await must('preview_capsule', { id }), previewed);
    const cleared = { description: null, expiresAt: null, callsPerMinute: null, constraints: null };
    const served = ['list_agents', 'get_approval', 'wait_for_approval'];
    assert.deepEqual(namesIn(await must('preview_capsule', { id, draft: cleared })), served);
    const silent = { ...cleared, askFirst: [] };
    assert.deepEqual(namesIn(await must('preview_capsule', { id, draft: silent })), ['list_agents']);
    const past = await refused('preview_capsule', { draft: { expiresAt: '2020-01-01T00:00:00Z' } });
    assert.deepEqual([past.code, past.issues?.[0]?.path], ['invalid_input', 'draft.expiresAt']);
  });

  it('serves version tools for the records whose own tools it serves', async () => {
    const draft = { allowedTools: ['list_versions', 'get_agent', 'restore_version'] };
    const { warnings, ...preview } = await must('preview_capsule', { draft });
    assert.deepEqual(namesIn(preview), ['get_agent', 'list_versions']);
    assert.match(warnings[0], /restore_version/);
    const making = await must('preview_capsule', { draft: { allowedTools: ['create_agent', 'restore_version'] } });
    assert.deepEqual(namesIn(making), ['create_agent'], 'who makes agents restores none');
  });

  it('agrees with its verdicts, and serves nothing that is denied, forbidden or not allowed, whatever the lists', async () => {
    const names = catalog.entries.map(({ tool }) => tool.name);
    const entry = fc.oneof(
      fc.constantFrom(...names),
      fc.constantFrom('*', 'list_*', '*_agent', 'get_*s', '*e*e*', 'nothing'),
    );
    const lists = fc.record({
      allowedTools: fc.array(entry, { maxLength: 6 }),
      deniedTools: fc.array(entry, { maxLength: 3 }),
    });
    await fc.assert(
      fc.asyncProperty(lists, async (draft) => {
        const answer = await call('preview_capsule', { draft });
        if ('error' in answer) return assert.equal(answer.error.code, 'invalid_input');
        // biome-ignore lint/suspicious/noExplicitAny: as the tool declares it
        const { tools, entries } = answer.output as any;
        const served = namesIn({ tools });
        // biome-ignore lint/suspicious/noExplicitAny: as the tool declares it
        const judged = entries.flatMap((verdict: any) => verdict.tools).filter((tool: any) => tool.served);
        assert.deepEqual([...new Set(namesIn({ tools: judged }))].sort(), [...served].sort());
        for (const name of served) {
          const matches = (glob: string) => new RegExp(`^${glob.replaceAll('*', '.*')}$`).test(name);
          assert.ok(draft.allowedTools.some(matches) && !draft.deniedTools.some(matches), name);
          const access = catalog.get(name)?.tool.access;
          const admins = access && !('among' in access) && access.scope === 'admin';
          if (admins) assert.ok(draft.allowedTools.includes(name), `${name} by a glob`);
          assert.doesNotMatch(name, /api_key|capsule|session|admin_user|sign_in|integration/);
        }
      }),
      { numRuns: rounds(20, 100) },
    );
  });
});

describe('a capsule that names a tool which manages others, stored before there was such a tool', () => {
  it('serves it no more than any other', async () => {
    const { id } = await make({ allowedTools: ['list_agents'] });
    const allowedTools = ['list_agents', 'create_api_key', 'list_capsules', 'create_admin_user'];
    await writing(server.store).capsules.update(id, { allowedTools });
    const { warnings, ...preview } = await must('preview_capsule', { id });
    assert.deepEqual(namesIn(preview), ['list_agents']);
    assert.equal(warnings.length, 3);
  });
});

describe('constraints', () => {
  const issuesOf = async (constraints: object) => {
    const { code, issues } = await refused('create_capsule', { name: 'x', allowedTools: ['*'], constraints });
    assert.equal(code, 'invalid_input');
    return (issues ?? []).map(({ path }) => path);
  };

  it('must name a tool, arguments that it takes and values that fit, each problem named', async () => {
    assert.deepEqual(await issuesOf({ list_agnets: { status: 'active' } }), ['constraints.list_agnets']);
    assert.deepEqual(await issuesOf({ list_agents: {} }), ['constraints.list_agents']);
    assert.deepEqual(await issuesOf({ list_agents: { status: 'asleep', limit: 1000, stauts: 1 } }), [
      'constraints.list_agents.status',
      'constraints.list_agents.limit',
      'constraints.list_agents.stauts',
    ]);
    assert.deepEqual(await issuesOf({ create_agent: { identity: { socials: [{}] } } }), [
      'constraints.create_agent.identity.socials[0].platform',
      'constraints.create_agent.identity.socials[0].url',
    ]);
    assert.deepEqual(await issuesOf(JSON.parse('{"__proto__": {"a": 1}}')), ['constraints.__proto__']);
  });

  it('take what required arguments the caller still gives as open', async () => {
    const { warnings } = await make({ allowedTools: ['create_agent'], constraints: { create_agent: { maxSteps: 5 } } });
    assert.equal(warnings, undefined);
  });

  it('fix no secret', async () => {
    const allowedTools = ['provision_agent_identity'];
    const constraints = { provision_agent_identity: { phone: { number: '+15550100' } } };
    assert.equal((await refused('create_capsule', { name: 'x', allowedTools, constraints })).code, 'invalid_input');
  });
});

describe('update_capsule', () => {
  it('merges members, clears by null, guards by revision and leaves equal states alone', async () => {
    const { id } = await make({ description: 'd', callsPerMinute: 5, constraints: { list_agents: { limit: 1 } } });
    const change = {
      id,
      name: 'renamed',
      description: null,
      callsPerMinute: null,
      constraints: null,
      expectedRevision: 1,
    };
    const { description, callsPerMinute, constraints, ...changed } = await must('update_capsule', change);
    assert.deepEqual([description, callsPerMinute, constraints], [undefined, undefined, undefined]);
    assert.deepEqual([changed.name, changed.revision], ['renamed', 2]);
    assert.equal((await must('update_capsule', { id, name: 'renamed' })).revision, 2);
    const { code, currentRevision } = await refused('update_capsule', { id, status: 'live', expectedRevision: 1 });
    assert.deepEqual([code, currentRevision], ['conflict', 2]);
  });

  it('writes no member that the server keeps', async () => {
    const { id } = await make();
    for (const member of ['token', 'tokenHash', 'callCount', 'ownerId', 'createdBy', 'tokenPrefix']) {
      assert.equal((await refused('update_capsule', { id, [member]: 'x' })).code, 'invalid_input');
    }
  });
});

describe('nobody hands out by a capsule what they may not do', () => {
  const manages = ['capsule:read', 'capsule:write', 'capsule:delete'];
  const codeOf = async (key: string, tool: string, input: object) => {
    const answer = await call(tool, input, key);
    return 'error' in answer ? answer.error.code : 'ok';
  };

  it('when it is made or changed', async () => {
    const key = await makeKey(server, { grants: [...manages, 'agent:read', 'skill:read:skl_one'] });
    const allowing = (...allowedTools: string[]) => codeOf(key, 'create_capsule', { name: 'x', allowedTools });
    assert.equal(await allowing('list_agents', 'get_agent'), 'ok');
    for (const beyond of ['list_skills', 'get_skill', 'create_agent', 'search', 'update_settings']) {
      assert.equal(await allowing('list_agents', beyond), 'forbidden', beyond);
    }
    assert.equal(
      await allowing('list_agents', 'list_versions'),
      'ok',
      'it shows histories of what get tools beside it read',
    );
    assert.equal(await allowing('list_versions', 'get_skill'), 'forbidden');
    const { id } = await must('create_capsule', { name: 'x', allowedTools: ['list_agents'] }, key);
    assert.equal(await codeOf(key, 'update_capsule', { id, allowedTools: ['list_skills'] }), 'forbidden');
    assert.equal(await codeOf(key, 'preview_capsule', { id, draft: { allowedTools: ['list_skills'] } }), 'forbidden');
    assert.equal(await codeOf(key, 'update_capsule', { id, name: 'y' }), 'ok');
  });

  it('nor by what may come later: without full access there are no globs and no names of tools that are away', async () => {
    const key = await makeKey(server, { grants: [...manages, 'agent:read'] });
    for (const entry of ['list_agent*', 'upstream__tool', '*_nothing']) {
      assert.equal(await codeOf(key, 'create_capsule', { name: 'x', allowedTools: [entry] }), 'forbidden', entry);
      const { id } = await make({ allowedTools: ['list_agents', entry] });
      for (const tool of ['update_capsule', 'rotate_capsule_token']) {
        assert.equal(await codeOf(key, tool, { id }), 'forbidden', `${tool} ${entry}`);
      }
    }
  });

  it('nor by the token of a stronger one', async () => {
    const key = await makeKey(server, { grants: [...manages, 'agent:read'] });
    const { id } = await make({ allowedTools: ['update_settings'] });
    assert.equal(await codeOf(key, 'rotate_capsule_token', { id }), 'forbidden');
    assert.equal(await codeOf(key, 'update_capsule', { id, status: 'live' }), 'forbidden');
    assert.equal(await codeOf(key, 'get_capsule', { id }), 'ok');
    assert.equal(await codeOf(key, 'delete_capsule', { id }), 'ok');
  });

  it('nor, where it may purge, removes one that it may not delete', async () => {
    const { id } = await make();
    const purge = (grants: string[]) => makeKey(server, { grants: ['record:purge', ...grants] });
    const input = { entityType: 'capsule', id };
    assert.equal(await codeOf(await purge([]), 'purge_record', input), 'forbidden');
    assert.equal(await codeOf(await purge(['capsule:delete']), 'purge_record', input), 'ok');
  });

  it('nor by one that lives longer', async () => {
    const expiresAt = new Date(Date.now() + 60_000).toISOString();
    const key = await makeKey(server, { scopes: ['admin'], expiresAt });
    const later = new Date(Date.now() + 120_000).toISOString();
    assert.equal(await codeOf(key, 'create_capsule', { name: 'x' }), 'forbidden');
    assert.equal(await codeOf(key, 'create_capsule', { name: 'x', expiresAt: later }), 'forbidden');
    assert.equal(await codeOf(key, 'create_capsule', { name: 'x', expiresAt }), 'ok');
    const { id } = await make();
    assert.equal(await codeOf(key, 'rotate_capsule_token', { id }), 'forbidden');
    assert.equal(await codeOf(key, 'update_capsule', { id, expiresAt: later }), 'forbidden');
  });
});

describe('a key limited to one capsule', () => {
  it('sees and changes that one', async () => {
    const [mine, other] = [await make({ name: 'mine' }), await make({ name: 'other' })];
    const grants = [`capsule:read:${mine.id}`, `capsule:write:${mine.id}`, 'search:read'];
    const key = await makeKey(server, { grants });
    const { data } = await must('list_capsules', {}, key);
    assert.deepEqual(pluck(data, 'id'), [mine.id]);
    assert.equal((await refused('get_capsule', { id: other.id }, key)).code, 'forbidden');
    assert.equal((await refused('create_capsule', { name: 'x' }, key)).code, 'forbidden');
    assert.equal((await refused('preview_capsule', { draft: {} }, key)).code, 'forbidden');
    const { data: hits } = await must('search', { q: 'other' }, key);
    assert.deepEqual(hits, []);
  });
});

describe('answers with a token', () => {
  it('are never kept for a repeat', async () => {
    const ask = (body: object, path = '') =>
      rest(server, 'POST', `/api/capsules${path}`, {
        key: server.adminKey,
        body,
        headers: { 'Idempotency-Key': `token ${path}` },
      });
    const first = await ask({ name: 'once' });
    assert.equal(first.status, 201);
    assert.equal((await ask({ name: 'once' })).status, 409);
    const rotate = `/${first.body.id}/rotate-token`;
    assert.equal((await ask({}, rotate)).status, 200);
    assert.equal((await ask({}, rotate)).status, 409);
    await server.store.audit.flush();
    const { data } = await must('list_audit_entries', { limit: 20 });
    assert.ok(!JSON.stringify(data).includes(first.body.token.slice(13)));
    assert.ok(!JSON.stringify(server.log).includes(first.body.token.slice(13)));
  });
});
