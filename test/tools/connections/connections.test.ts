import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { Webhook as Verifier } from 'standardwebhooks';
import { reencryptSecrets } from '../../../facade/launch/reencrypt-secrets.ts';
import { createSecretBox } from '../../../tools/core/sealing/secrets.ts';
import { ApprovalWorld } from '../../support/approval-world.ts';
import { inPerson, OutgoingWorld, startFarServer } from '../../support/outgoing-world.ts';
import { principalOf, SECRETS_KEY } from '../../support/registry.ts';

const far = await startFarServer();
const world = await OutgoingWorld.open();
const SIGNING = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const http = (name: string, members: object = {}) => ({ name, kind: 'http', baseUrl: `${far.url}/api`, ...members });
const key = principalOf({ type: 'api-key', id: 'key_1', scopes: ['admin'] });

describe('a connection', () => {
  it('has the members of its kind and no others', async () => {
    const slack = { name: 'a', kind: 'slack', webhookUrl: `${far.url}/T/B/secret-part` };
    for (const [input, path] of [
      [{ ...slack, baseUrl: far.url }, 'baseUrl'],
      [{ name: 'a', kind: 'slack' }, 'webhookUrl'],
      [{ ...slack, auth: { type: 'bearer', secret: 'x' } }, 'auth.type'],
      [http('a', { webhookUrl: far.url }), 'webhookUrl'],
      [http('a', { baseUrl: 'ftp://example.com' }), 'baseUrl'],
      [http('a', { baseUrl: `${far.url}/?key=1` }), 'baseUrl'],
      [http('a', { baseUrl: 'http://user:pw@example.com' }), 'baseUrl'],
      [http('a', { paths: ['/../x'] }), 'paths[0]'],
      [http('a', { paths: ['/**/x'] }), 'paths[0]'],
      [http('A b'), 'name'],
      [{ name: 'a', kind: 'webhook', baseUrl: far.url }, 'auth.type'],
      [{ name: 'a', kind: 'webhook', baseUrl: far.url, auth: { type: 'signature', secret: 'short' } }, 'auth.secret'],
      [http('a', { auth: { type: 'header', header: 'Host', secret: 'x' } }), 'auth.header'],
      [http('a', { auth: { type: 'bearer', secret: 'a\r\nb' } }), 'auth.secret'],
      [http('a', { auth: { type: 'bearer', secret: '•••' } }), 'auth.secret'],
    ] as const) {
      const { code, issues } = await world.refused('create_connection', input);
      assert.deepEqual([code, issues?.[0]?.path], ['invalid_input', path], JSON.stringify(input));
    }
    await world.must('create_connection', slack);
    assert.equal(await world.codeOf('create_connection', slack), 'conflict');
  });

  it('shows its secrets never, and wants them again for another origin', async () => {
    const made = await world.must(
      'create_connection',
      http('kept', { auth: { type: 'basic', user: 'me', secret: 'pass-word-1' } }),
    );
    assert.deepEqual(made.auth, { type: 'basic', user: 'me', secret: '•••' });
    const stored = JSON.stringify(await world.store.connections.get(made.id));
    assert.equal(stored.includes('pass-word-1'), false);
    const { id } = made;
    const away = { id, baseUrl: 'http://127.0.0.1:9/' };
    for (const change of [away, { ...away, auth: made.auth }]) {
      const { issues } = await world.refused('update_connection', change);
      assert.match(`${issues?.[0]?.path} ${issues?.[0]?.message}`, /auth.secret.*another target/);
    }
    await world.must('update_connection', { id, baseUrl: `${far.url}/other` });
    await world.must('update_connection', { ...away, auth: { type: 'none' } });
    const oauth = {
      type: 'oauth-client-credentials',
      tokenUrl: `${far.url}/t`,
      user: 'a',
      secret: 'secret-of-client',
    };
    const other = await world.must('create_connection', http('oauth', { auth: oauth }));
    for (const change of [{ tokenUrl: 'http://127.0.0.1:9/t' }, { user: 'b' }])
      assert.equal(
        await world.codeOf('update_connection', { id: other.id, auth: { ...other.auth, ...change } }),
        'invalid_input',
      );
    await world.must('update_connection', { id: other.id, auth: { ...other.auth, scopes: ['x'] } });
    const hook = await world.must('create_connection', {
      name: 'hook',
      kind: 'webhook',
      baseUrl: far.url,
      auth: { type: 'signature', secret: SIGNING },
    });
    assert.equal(
      await world.codeOf('update_connection', { id: hook.id, baseUrl: 'http://127.0.0.1:9/' }),
      'invalid_input',
    );
    await world.must('update_connection', {
      id: hook.id,
      baseUrl: `${far.url}/deeper`,
      auth: { type: 'signature', secret: '•••' },
    });
    const chat = await world.must('create_connection', {
      name: 'chat',
      kind: 'slack',
      webhookUrl: `${far.url}/T/secret-path`,
    });
    assert.deepEqual([chat.baseUrl, chat.webhookUrl], [far.url, undefined]);
    await world.must('update_connection', { id: chat.id, webhookUrl: '•••' });
    const entries = JSON.stringify(await world.store.audit.find({ limit: 100 }));
    assert.doesNotMatch(entries, /pass-word-1|secret-of-client|secret-path|whsec_/);
  });

  it('is changed with a guard by revision', async () => {
    const { id, revision } = await world.must('create_connection', http('guarded'));
    far.answer = (_, response) => void response.end('ok');
    await world.must('send_http_request', { connection: 'guarded', path: '/x' });
    const changed = await world.must('update_connection', { id, displayName: 'A', expectedRevision: revision });
    const { data } = await world.must('list_connections', {});
    assert.deepEqual([changed.revision, data[0].displayName], [2, 'A']);
    assert.ok(data[0].lastUsedAt);
    assert.equal(
      await world.codeOf('update_connection', { id, displayName: 'B', expectedRevision: revision }),
      'conflict',
    );
    assert.equal(await world.codeOf('delete_connection', { id, expectedRevision: revision }), 'conflict');
    await world.must('delete_connection', { id });
    assert.equal(await world.codeOf('send_http_request', { connection: 'guarded', path: '/x' }), 'not_found');
  });

  it('is sealed with the newest key after a change of keys', async () => {
    const { id } = await world.must(
      'create_connection',
      http('sealed', { auth: { type: 'bearer', secret: 'token-of-before' } }),
    );
    const other = Buffer.alloc(32, 'other').toString('base64');
    const before = await world.store.connections.get(id);
    assert.ok((await reencryptSecrets(world.store, createSecretBox([other, SECRETS_KEY], ''))) > 0);
    assert.notDeepEqual((await world.store.connections.get(id))?.auth, before?.auth);
    await reencryptSecrets(world.store, createSecretBox([SECRETS_KEY, other], ''));
    await world.must('send_http_request', { connection: 'sealed', path: '/x' });
    assert.equal(far.asked.at(-1)?.headers.authorization, 'Bearer token-of-before');
  });

  it('is managed by people and keys alone, and asks less only by who has full access', async () => {
    for (const type of ['agent', 'capsule', 'app', 'flow'] as const) {
      const caller = principalOf({ type, id: 'x', scopes: ['admin'] });
      assert.equal(await world.codeOf('create_connection', http(`by-${type}`), caller), 'forbidden');
    }
    const limited = inPerson(principalOf({ type: 'session', id: 'usr_l', grants: ['connection:write'] }));
    const { id } = await world.must('create_connection', http('limited'), limited);
    assert.equal(await world.codeOf('create_connection', http('loose', { askFirst: false }), limited), 'forbidden');
    assert.equal(await world.codeOf('update_connection', { id, askFirst: false }, limited), 'forbidden');
    assert.equal(await world.codeOf('update_connection', { id, askFirst: false }, key), 'approval_required');
    assert.equal(await world.codeOf('create_connection', http('loose', { askFirst: false }), key), 'approval_required');
    assert.equal(await world.codeOf('create_connection', http('strict'), key), 'ok');
    await world.must('update_connection', { id, askFirst: false });
    assert.equal(await world.codeOf('update_connection', { id, askFirst: false, displayName: 'Same' }, key), 'ok');
    const [entry] = (await world.store.audit.find({ tool: 'update_connection', limit: 1 })).records;
    assert.equal((entry?.arguments as { askFirst?: boolean } | undefined)?.askFirst, false);
  });
});

describe('a message', () => {
  before(async () => {
    await world.must('create_connection', {
      name: 'team',
      kind: 'slack',
      webhookUrl: `${far.url}/services/T1/secret-of-slack?x=1`,
    });
    await world.must('create_connection', {
      name: 'signed',
      kind: 'webhook',
      baseUrl: `${far.url}/in`,
      auth: { type: 'signature', secret: SIGNING },
    });
  });

  it('goes to Slack as text and blocks', async () => {
    far.answer = (_, response) => void response.end('ok');
    const blocks = [{ type: 'section', text: { type: 'mrkdwn', text: '*Hi*' } }];
    assert.deepEqual(await world.must('send_message', { connection: 'team', text: 'Hi', blocks }), {});
    const { url, method, body } = far.asked.at(-1) ?? assert.fail();
    assert.deepEqual(
      [method, url, JSON.parse(body)],
      ['POST', '/services/T1/secret-of-slack?x=1', { text: 'Hi', blocks }],
    );
    far.answer = ({ url: asked }, response) => void response.writeHead(404).end(`no_service ${asked}`);
    const { code, error } = await world.refused('send_message', { connection: 'team', text: 'Hi' });
    assert.deepEqual(
      [code, /404.*no_service/.test(error), error.includes('secret-of-slack')],
      ['conflict', true, false],
    );
    const { data } = await world.must('list_connections', {});
    assert.match(data.find(({ name }: { name: string }) => name === 'team').lastFailure.message, /404/);
  });

  it('has the numbers of a report below its text, in which Slack reads no marks', async () => {
    far.answer = (_, response) => void response.end('ok');
    await world.must('create_skill', { name: 'one', displayName: '<!channel> ``` & co', instructions: 'x' });
    const { id: reportId } = await world.must('create_report', {
      title: 'Skills',
      query: { tool: 'list_skills', arguments: {} },
    });
    await world.must('send_message', { connection: 'team', text: 'Weekly', reportId });
    const { text } = JSON.parse(far.asked.at(-1)?.body ?? '');
    assert.match(text, /^Weekly\n\n\*Skills\*, as of .*\n```\n/);
    assert.match(text, /&lt;!channel&gt; ''' &amp; co/);
    const sender = inPerson(principalOf({ type: 'session', id: 'usr_s', grants: ['connection:use:team'] }));
    const call = { connection: 'team', text: 'Weekly', reportId };
    assert.equal(await world.codeOf('send_message', call, sender), 'forbidden');
  });

  it('goes as a webhook with the signature of outgoing webhooks', async () => {
    far.answer = (_, response) => void response.writeHead(204).end();
    const { id } = await world.must('send_message', { connection: 'signed', text: 'Hi' });
    const { headers, body } = far.asked.at(-1) ?? assert.fail();
    new Verifier(SIGNING).verify(body, headers as Record<string, string>);
    assert.equal(headers['webhook-id'], id);
    const { type, data } = JSON.parse(body);
    assert.deepEqual([type, data], ['message', { text: 'Hi' }]);
    far.answer = (_, response) => void response.writeHead(429, { 'retry-after': '3' }).end();
    assert.match(
      (await world.refused('send_message', { connection: 'signed', text: 'Hi' })).error,
      /try again in 3 seconds/,
    );
  });

  it('does not go by a connection for requests', async () => {
    await world.must('create_connection', http('plain'));
    assert.match((await world.refused('send_message', { connection: 'plain', text: 'Hi' })).error, /send_http_request/);
  });
});

describe('a call that sends', () => {
  it('waits for a person unless one makes it, and cannot be made later with other arguments', async () => {
    far.answer = (_, response) => void response.end('ok');
    const people = new ApprovalWorld(world.store, world.registry);
    const [anna, bert] = [await people.person('anna'), await people.person('bert')];
    const asking = await people.key(anna, { scopes: ['write'] });
    await world.must('create_connection', http('asked'));
    const input = { connection: 'asked', method: 'POST', path: '/x', body: { sum: 1 } };
    const count = far.asked.length;
    // One that would fail anyway asks nobody.
    assert.equal(await world.codeOf('send_http_request', { ...input, path: '/../x' }, asking), 'invalid_input');
    const id = await people.asked(asking, 'send_http_request', input);
    const shown = await people.registry.must(bert, 'get_approval', { id });
    assert.deepEqual(shown.arguments.body, { sum: 1 });
    await people.approve(bert, id);
    await people.calls().look();
    assert.equal(far.asked.length, count + 1);
    assert.equal((await world.must('send_http_request', input, asking)).status, 200);
    assert.equal(far.asked.length, count + 1);
    assert.equal(await world.codeOf('send_http_request', { ...input, body: { sum: 2 } }, asking), 'approval_required');
    await world.must('send_http_request', input, inPerson(anna));
    assert.equal(far.asked.length, count + 2);
    await world.must('create_connection', http('free', { askFirst: false }));
    assert.equal(await world.codeOf('send_http_request', { ...input, connection: 'free' }, asking), 'ok');
  });

  it('is sent with the length of its body, so that no body is read as another request', async () => {
    far.answer = (_, response) => void response.end('ok');
    await world.must('create_connection', http('deletes', { methods: ['DELETE'] }));
    const count = far.asked.length;
    const text = 'GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n';
    const input = { connection: 'deletes', method: 'DELETE', path: '/one', text };
    assert.equal((await world.must('send_http_request', input)).status, 200);
    const asked = far.asked.slice(count).map(({ method, url, body }) => [method, url, body]);
    assert.deepEqual(asked, [['DELETE', '/api/one', text]]);
  });

  it('is answered also where its text names a message of MCP', async () => {
    far.answer = (_, response) => void response.end('ok');
    const posted = { connection: 'asked', method: 'POST', path: '/x', text: 'see notifications/cancelled' };
    assert.equal((await world.must('send_http_request', posted)).status, 200);
  });

  it('by a connection that asks nobody goes elsewhere only after a yes, whose key needs full access', async () => {
    const { id } = await world.must('create_connection', http('open-way', { askFirst: false }));
    const narrow = principalOf({
      ...{ type: 'api-key', id: 'key_narrow', scopes: [] },
      grants: [`connection:write:${id}`, `connection:use:${id}`, 'integration:write'],
    });
    for (const change of [
      { baseUrl: 'http://127.0.0.1:9' },
      { paths: ['/**'] },
      { methods: ['POST'] },
      { enabled: true },
    ])
      assert.equal(
        await world.codeOf('update_connection', { id, ...change }, narrow),
        'approval_required',
        JSON.stringify(change),
      );
    assert.equal(await world.codeOf('update_connection', { id, enabled: false }, narrow), 'ok');
  });

  it('goes where it was said yes to, and nowhere else', async () => {
    far.answer = (_, response) => void response.end('ok');
    const people = new ApprovalWorld(world.store, world.registry);
    const [anna, bert] = [await people.person('anna-moves'), await people.person('bert-moves')];
    const asking = await people.key(anna, { scopes: ['write'] });
    const made = await world.must('create_connection', http('moving'));
    const input = { connection: 'moving', method: 'POST', path: '/x' };
    const id = await people.asked(asking, 'send_http_request', input);
    const { reaches } = await people.registry.must(bert, 'get_approval', { id });
    assert.equal(reaches, `${far.url}/api by the connection moving (${made.id}, revision 1)`);
    await world.must('update_connection', { id: made.id, baseUrl: `${far.url}/elsewhere` });
    const count = far.asked.length;
    await people.approve(bert, id);
    await people.calls().look();
    const { status, problem } = await people.registry.must(bert, 'get_approval', { id });
    assert.deepEqual([far.asked.length, status], [count, 'failed']);
    assert.match(problem, /^What send_http_request reaches has changed since the approval/);
    const anew = await people.asked(asking, 'send_http_request', input);
    assert.notEqual(anew, id);
  });

  it('is had by a capsule that names it, held to the connection that is fixed for it', async () => {
    const people = new ApprovalWorld(world.store, world.registry);
    const owner = await people.person('owner');
    const tools = async (members: object) => {
      const capsule = await people.capsule(owner, members);
      return (input: object) => people.registry.codeOf(capsule, 'send_http_request', input);
    };
    const byGlob = await tools({ allowedTools: ['send_*', '*'] });
    assert.equal(await byGlob({ connection: 'free', path: '/x' }), 'forbidden');
    const byName = await tools({ allowedTools: ['send_http_request'] });
    assert.equal(await byName({ connection: 'free', path: '/x' }), 'ok');
    const fixed = { connection: 'free', path: '/only' };
    const bound = await tools({ allowedTools: ['send_http_request'], constraints: { send_http_request: fixed } });
    assert.equal(await bound({}), 'ok');
    assert.equal(far.asked.at(-1)?.url, '/api/only');
    assert.notEqual(await bound({ connection: 'asked' }), 'ok');
    const other = await tools({
      allowedTools: ['send_http_request', 'send_message'],
      constraints: { send_message: { connection: 'team' } },
    });
    assert.equal(await other({ connection: 'free', path: '/x' }), 'forbidden');
  });
});
