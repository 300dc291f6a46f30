import assert from 'node:assert/strict';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { copySnapshot } from '../../../store/lowdb/backup.ts';
import { callsOf, callTool, makeKey, mustCall } from '../../support/calls.ts';
import { withFolder } from '../../support/child.ts';
import { openTestRegistry, principalOf } from '../../support/registry.ts';
import { startTestServer } from '../../support/server.ts';
import { onPostgres, placesWith } from '../../support/store.ts';
import { until } from '../../support/until.ts';
import { callRaw, connectHttp, guestNames, startUpstream, toolCalled } from '../../support/upstream.ts';

const SECRET = 'sk-very-secret-0123456789';

async function paths(tool: string, input: object): Promise<string[]> {
  const { code, issues = [] } = await refused(tool, input);
  assert.equal(code, 'invalid_input');
  return issues.map(({ path }) => path);
}

const [server, fake] = await Promise.all([
  startTestServer(),
  startUpstream(toolCalled('find'), toolCalled('drop.table')),
]);
const { must, refused, call, codeOf } = callsOf(server);

describe('create_integration', () => {
  it('offers the tools it accepted under its prefix, and calls them with its headers', async () => {
    const made = await connectHttp(server, fake.url, {
      name: 'My Weather!',
      headers: { Authorization: `Bearer ${SECRET}` },
    });
    assert.equal(made.toolPrefix, 'my-weather');
    assert.deepEqual(made.headers, { Authorization: '•••' });
    assert.equal(made.status.state, 'connected');
    assert.deepEqual(await guestNames(server), ['my-weather__find', 'my-weather__drop_table']);
    const { content } = await callRaw(server, 'my-weather__drop_table', { a: 1 });
    assert.deepEqual(content, [{ type: 'text', text: '{"a":1}' }]);
    assert.equal(fake.requests.at(-1)?.headers.authorization, `Bearer ${SECRET}`);
    await must('delete_integration', { id: made.id });
    assert.deepEqual(await guestNames(server), []);
  });

  it('keeps one that cannot be reached, says why, and offers its tools once it is there and they are accepted', async () => {
    const made = await connectHttp(server, 'http://127.0.0.1:9/mcp', { name: 'Away' });
    assert.equal(made.status.state, 'unavailable');
    assert.match(made.status.lastError, /ECONNREFUSED/);
    assert.ok(made.status.retryAt);
    const health = await must('get_system_health');
    assert.equal(health.overallStatus, 'degraded');
    const { name, kind, status, lastError } = health.integrations.find(
      (each: { name: string }) => each.name === 'Away',
    );
    assert.deepEqual([name, kind, status], ['Away', 'mcp', 'down']);
    assert.match(lastError, /ECONNREFUSED/);
    const moved = await must('update_integration', { id: made.id, url: fake.url });
    await until(async () => (await must('get_integration', { id: made.id })).status.state === 'connected');
    assert.equal(moved.toolPrefix, 'away');
    assert.deepEqual(await guestNames(server), []);
    await must('refresh_integration', { id: made.id, accept: true });
    assert.deepEqual(await guestNames(server), ['away__find', 'away__drop_table']);
    await must('delete_integration', { id: made.id });
  });

  it('refuses what does not belong together, and names and prefixes that are taken', async () => {
    const http = { transport: 'http', url: fake.url, enabled: false };
    assert.deepEqual(await paths('create_integration', { name: 'x', transport: 'http' }), ['url']);
    assert.deepEqual(await paths('create_integration', { name: 'x', transport: 'stdio', args: [] }), ['command']);
    assert.deepEqual(await paths('create_integration', { ...http, name: 'x', env: {}, command: 'y' }), [
      'command',
      'env',
    ]);
    assert.deepEqual(await paths('create_integration', { ...http, name: '日本' }), ['toolPrefix']);
    for (const toolPrefix of ['A', 'a__b', 'a_', '1a', 'a'.repeat(25)]) {
      assert.deepEqual(
        await paths('create_integration', { ...http, name: 'x', toolPrefix }),
        ['toolPrefix'],
        toolPrefix,
      );
    }
    for (const url of [
      'ftp://x/',
      'http://user:pass@x/',
      'http:///user:pass@x/',
      'nonsense',
      `http://x/${'y'.repeat(2000)}`,
    ]) {
      assert.deepEqual(await paths('create_integration', { ...http, name: 'x', url }), ['url'], url);
    }
    const oauth = { issuer: 'https://user:pass@provider.example' };
    assert.deepEqual(await paths('create_integration', { ...http, name: 'x', auth: 'oauth-shared', oauth }), [
      'oauth.issuer',
    ]);
    for (const headers of [{ 'Bad Name': 'x' }, { Good: 'bad\r\nX: y' }, { Host: 'x' }, { 'mcp-session-id': 'x' }]) {
      assert.match((await paths('create_integration', { ...http, name: 'x', headers })).join(), /^headers/);
    }
    const { id } = await must('create_integration', { ...http, name: 'Taken' });
    assert.equal(
      (await refused('create_integration', { ...http, name: 'TAKEN', toolPrefix: 'other' })).code,
      'conflict',
    );
    assert.equal(
      (await refused('create_integration', { ...http, name: 'Other', toolPrefix: 'taken' })).code,
      'conflict',
    );
    await must('delete_integration', { id });
  });

  it('is read and listed with its secrets masked, by whoever may read it', async () => {
    const headers = { Authorization: `Bearer ${SECRET}`, 'X-Tenant': 'tenant-0815-secret' };
    const http = await connectHttp(server, fake.url, { name: 'With headers', headers });
    const program = await must('create_integration', {
      name: 'With env',
      transport: 'stdio',
      command: 'true',
      args: ['--plain'],
      env: { TOKEN: SECRET },
      enabled: false,
    });
    const readers = [server.adminKey, await makeKey(server, { grants: ['integration:read'] })];
    for (const key of readers) {
      for (const input of [{}, { limit: 1 }, { enabled: true }, { enabled: false }, { includeTotal: true }]) {
        const page = await must('list_integrations', input, key);
        assert.ok(page.data.length > 0);
        assert.ok(!JSON.stringify(page).includes(SECRET) && !JSON.stringify(page).includes('tenant-0815'));
      }
      const { data } = await must('list_integrations', {}, key);
      const one = data.find(({ id }: { id: string }) => id === http.id);
      assert.deepEqual(one.headers, { Authorization: '•••', 'X-Tenant': '•••' });
      assert.deepEqual([one.toolCount, one.heldCount, one.status.state], [2, 0, 'connected']);
      assert.equal('approved' in one, false);
      const other = data.find(({ id }: { id: string }) => id === program.id);
      assert.deepEqual([other.env, other.args, other.status.state], [{ TOKEN: '•••' }, ['--plain'], 'disabled']);
      const shown = await must('get_integration', { id: program.id }, key);
      assert.deepEqual(shown.env, { TOKEN: '•••' });
    }
    for (const { id } of [http, program]) await must('delete_integration', { id });
  });

  it('is written with full access alone, so that a grant to write is given to nobody', async () => {
    const opensNothing = { name: 'x', scopes: [], grants: ['integration:write'] };
    assert.equal(await codeOf('create_api_key', opensNothing), 'invalid_input');
  });
});

describe('an integration', () => {
  it('is managed by no agent, flow or capsule, whatever their rights', async () => {
    const registry = await openTestRegistry();
    for (const type of ['agent', 'flow', 'capsule'] as const) {
      const principal = principalOf({ type, id: 'x', scopes: ['*'] });
      const calls: [string, object][] = [
        ['create_integration', { name: 'x', transport: 'stdio', command: 'true' }],
        ['update_integration', { id: 'int_1' }],
        ['delete_integration', { id: 'int_1' }],
        ['refresh_integration', { id: 'int_1', accept: true }],
      ];
      for (const [tool, input] of calls) {
        assert.equal(await registry.codeOf(principal, tool, input), 'forbidden', `${type} ${tool}`);
      }
    }
  });
});

describe('a program', () => {
  it('is set up by no credential that ends, since it would go on running', async () => {
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    const { secret } = await must('create_api_key', { name: 'short', scopes: ['admin'], expiresAt });
    const program = { name: 'Lasting', transport: 'stdio', command: 'true', enabled: false };
    const { id } = await must('create_integration', program);
    const calls: [string, object][] = [
      ['create_integration', program],
      ['update_integration', { id, command: 'false' }],
      ['update_integration', { id, args: ['x'] }],
      ['update_integration', { id, env: { A: 'b' } }],
    ];
    for (const [tool, input] of calls) {
      const answer = await call(tool, input, secret);
      assert.ok('error' in answer && answer.error.code === 'forbidden', `${tool} ${JSON.stringify(input)}`);
      assert.match(answer.error.issues?.[0]?.message ?? '', /your own credential ends at/);
    }
    assert.ok('output' in (await call('update_integration', { id, name: 'Renamed' }, secret)));
    await must('delete_integration', { id });
  });
});

describe('update_integration', () => {
  it('renames its tools with the prefix, marks those that only read, and takes them away while disabled', async () => {
    const { id } = await connectHttp(server, fake.url, { name: 'Change' });
    const reader = await makeKey(server, { scopes: ['read'] });
    assert.deepEqual(await guestNames(server, reader), []);
    await must('update_integration', { id, toolPrefix: 'other', readOnlyTools: ['fi*'] });
    await until(async () => (await guestNames(server)).length === 2);
    assert.deepEqual(await guestNames(server), ['other__find', 'other__drop_table']);
    assert.deepEqual(await guestNames(server, reader), ['other__find']);
    assert.ok((await callRaw(server, 'other__find', {}, reader)).content);
    await must('update_integration', { id, enabled: false });
    assert.deepEqual(await guestNames(server), []);
    assert.equal((await must('get_integration', { id })).status.state, 'disabled');
    assert.equal((await refused('refresh_integration', { id })).code, 'conflict');
    await must('update_integration', { id, enabled: true });
    await until(async () => (await must('get_integration', { id })).status.state === 'connected');
    assert.deepEqual(await guestNames(server), ['other__find', 'other__drop_table']);
    await must('delete_integration', { id });
  });

  it('keeps a secret that is given as its mask, and gives none to another target', async () => {
    const headers = { Authorization: `Bearer ${SECRET}`, 'X-Two': 'two' };
    const { id } = await connectHttp(server, fake.url, { name: 'Keep', headers });
    await must('update_integration', { id, headers: { Authorization: '•••', 'X-Three': 'three' } });
    await until(async () => (await must('get_integration', { id })).status.state === 'connected');
    await callRaw(server, 'keep__find');
    const sent = fake.requests.at(-1)?.headers ?? {};
    assert.deepEqual([sent.authorization, sent['x-two'], sent['x-three']], [`Bearer ${SECRET}`, undefined, 'three']);
    assert.deepEqual(await paths('update_integration', { id, headers: { New: '•••' } }), ['headers.New']);
    const elsewhere = 'https://203.0.113.7/mcp';
    assert.deepEqual(await paths('update_integration', { id, url: elsewhere }), [
      'headers.Authorization',
      'headers.X-Three',
    ]);
    assert.deepEqual(await paths('update_integration', { id, url: elsewhere, headers: { Authorization: '•••' } }), [
      'headers.Authorization',
    ]);
    const same = await must('update_integration', { id, url: `${fake.url}?x=1`, headers: null, expectedRevision: 3 });
    assert.equal(same.headers, undefined);
    assert.equal((await refused('update_integration', { id, name: 'x', expectedRevision: 3 })).code, 'conflict');
    assert.deepEqual(await paths('update_integration', { id, command: 'x' }), ['command']);
    await must('delete_integration', { id });
  });
});

describe('secrets of integrations', () => {
  it('are in no answer, audit entry, log line, search result, error, file of the store or backup', async () => {
    fake.intercept = (_, response, { id, method, params }) => {
      if (method !== 'tools/call') return false;
      const text = `you sent ${SECRET}, ${encodeURIComponent(`a/${SECRET}`)}, ${Buffer.from(`x:${SECRET}`).toString('base64')}`;
      const result = {
        content: [{ type: 'text', text }],
        structuredContent: { [SECRET]: [text] },
        isError: params.arguments.fail === true,
      };
      response
        .writeHead(200, { 'Content-Type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id, result }));
      return true;
    };
    const tools = fake.tools;
    fake.tools = [toolCalled('leak', { description: `I know ${SECRET}.` })];
    const seen: unknown[] = [];
    const tell = async (tool: string, input: object) => seen.push(await call(tool, input).catch(String));
    const made = await connectHttp(server, fake.url, { name: 'Leak', headers: { Authorization: `Bearer ${SECRET}` } });
    seen.push(made, await callRaw(server, 'leak__leak'), await callRaw(server, 'leak__leak', { fail: true }));
    await tell('create_integration', { name: 'Leak', transport: 'http', url: fake.url, headers: { A: SECRET } });
    await tell('create_integration', {
      name: 'Leak 2',
      transport: 'http',
      url: 5,
      headers: { A: SECRET, 'B B': SECRET },
    });
    await tell('update_integration', { id: made.id, headers: { Authorization: `Bearer ${SECRET}` }, timeoutMs: 1 });
    const url = fake.url.replace('//', `//me:${SECRET}@`);
    await tell('create_integration', { name: 'Leak 3', transport: 'http', url });
    await tell('update_integration', { id: made.id, url });
    await tell('search', { q: 'leak' });
    for (const tool of ['list_integrations', 'list_audit_entries', 'get_system_health', 'list_tool_categories'])
      await tell(tool, {});
    await tell('get_integration', { id: made.id });
    await server.store.audit.flush();
    seen.push((await server.store.audit.find({ limit: 500 })).records, server.log);
    assert.match(JSON.stringify(seen), /you sent \[redacted\]/);
    const forms = [
      SECRET,
      Buffer.from(SECRET).toString('base64').slice(0, 20),
      Buffer.from(`x:${SECRET}`).toString('base64').slice(4, 20),
    ];
    for (const form of forms) assert.ok(!JSON.stringify(seen).includes(form), form);
    assert.deepEqual(await placesWith(server.folder, SECRET), []);
    if (!onPostgres) await backsUpNoSecret();
    [fake.tools, fake.intercept] = [tools, () => false];
    await must('delete_integration', { id: made.id });
  });
});

describe('STDIO_INTEGRATIONS and PRIVATE_UPSTREAMS', () => {
  it('are off unless the server listens on loopback, and refuse at writing', async () => {
    const closed = await startTestServer({ STDIO_INTEGRATIONS: 'off', PRIVATE_UPSTREAMS: 'off' });
    const tell = (input: object) => callTool(closed, closed.adminKey, 'create_integration', { name: 'x', ...input });
    const stdio = await tell({ transport: 'stdio', command: 'true' });
    assert.ok('error' in stdio);
    assert.match(stdio.error.issues?.[0]?.message ?? '', /STDIO_INTEGRATIONS=on/);
    for (const host of [
      '127.0.0.1',
      'localhost',
      '10.0.0.1',
      '[::1]',
      '[::ffff:10.0.0.1]',
      '0x7f000001',
      '100.64.1.1',
    ]) {
      const answer = await tell({ transport: 'http', url: `http://${host}:1/mcp` });
      assert.ok('error' in answer, host);
      assert.match(answer.error.issues?.[0]?.message ?? '', /PRIVATE_UPSTREAMS=on/, host);
    }
    for (const host of ['169.254.169.254', '[::ffff:169.254.169.254]', '[fe80::1]', '[fd00:ec2::23]']) {
      const answer = await tell({ transport: 'http', url: `http://${host}:1/mcp` });
      assert.ok('error' in answer, host);
      assert.match(answer.error.issues?.[0]?.message ?? '', /which is never allowed/, host);
    }
  });

  it('hold for integrations that were made before, when they connect', async () => {
    const requests = fake.requests.length;
    const command = {
      name: 'Program',
      toolPrefix: 'program',
      transport: 'stdio' as const,
      command: process.execPath,
      args: ['-e', ''],
    };
    const common = { enabled: true, readOnlyTools: [], timeoutMs: 1000, approved: [], createdBy: 'usr_1' };
    const closed = await startTestServer(
      { STDIO_INTEGRATIONS: 'off', PRIVATE_UPSTREAMS: 'off' },
      {
        fill: async (store) => {
          await store.transaction(async (tx) => {
            await tx.integrations.insert({ ...common, ...command });
            for (const [index, host] of ['127.0.0.1', 'localhost'].entries()) {
              const url = fake.url.replace('127.0.0.1', host);
              await tx.integrations.insert({
                ...common,
                name: `http ${index}`,
                toolPrefix: `http${index}`,
                transport: 'http',
                url,
              });
            }
          });
        },
      },
    );
    const states = async () => (await mustCall(closed, closed.adminKey, 'list_integrations')).data;
    await until(async () =>
      (await states()).every(({ status }: { status: { state: string } }) => status.state === 'unavailable'),
    );
    const errors = (await states()).map(({ status }: { status: { lastError: string } }) => status.lastError).join('\n');
    assert.match(errors, /STDIO_INTEGRATIONS=on/);
    assert.equal(errors.match(/PRIVATE_UPSTREAMS=on/g)?.length, 2);
    assert.equal(fake.requests.length, requests);
  });
});

/** A copy of the data folder holds no secret, nor the keys to those that it holds sealed. */
async function backsUpNoSecret(): Promise<void> {
  await withFolder(async (parent) => {
    const backup = join(parent, 'backup');
    await copySnapshot(server.folder, backup);
    assert.ok(!readdirSync(backup).includes('secrets.key'));
    assert.ok(!readdirSync(backup).includes('repeats-secret'));
    assert.deepEqual(await placesWith(backup, SECRET), []);
  });
  assert.equal(statSync(join(server.folder, 'secrets.key')).mode & 0o777, 0o600);
}
