import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { stoppedAtEnd } from '../../support/at-end.ts';
import { callTool, mustCall, rest } from '../../support/calls.ts';
import { pluck } from '../../support/pluck.ts';
import { WebClient } from '../../support/web-client.ts';
import { ADA, askForLink, nextLink, signInAudit, signInByMail, startWorkspace, type Workspace } from './workspace.ts';

describe('signing in by a link from a mail', () => {
  let workspace: Workspace;
  let client: WebClient;
  before(async () => {
    workspace = await startWorkspace();
    client = await signInByMail(workspace);
  });
  after(() => workspace.close());

  it('ends at a page that says who is signed in', () => {
    assert.deepEqual([client.page.status, client.page.url.pathname], [200, '/']);
    assert.match(client.page.text, /signed in as <strong>ada@example.com<\/strong>/);
    assert.match(client.page.text, /"role":"admin"/);
  });

  it('gives a cookie that does over REST and MCP what an admin key does', async () => {
    const Cookie = client.cookieHeader(workspace.baseUrl);
    const asAda = { headers: { Cookie } };
    const session = await rest(workspace, 'GET', '/api/v1/auth/session', asAda);
    assert.deepEqual([session.body.type, session.body.user.email, session.body.scopes], ['session', ADA, ['*']]);
    const made = await rest(workspace, 'POST', '/api/v1/agents', {
      ...asAda,
      body: { name: 'eve', displayName: 'Eve', tools: ['list_*'] },
    });
    assert.equal(made.status, 201);
    const changed = await rest(workspace, 'PATCH', '/api/v1/settings', {
      ...asAda,
      body: { workspaceName: 'Acme & Co' },
    });
    assert.equal(changed.status, 200);
    const tools = async (options: object) => {
      const message = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
      const { body } = await rest(workspace, 'POST', '/api/v1/mcp', { body: message, ...options });
      return body.result.tools.map(({ name }: { name: string }) => name);
    };
    assert.deepEqual(await tools(asAda), await tools({ key: workspace.adminKey }));
    const params = { name: 'create_api_key', arguments: { name: 'by ada', scopes: ['admin'] } };
    const key = await rest(workspace, 'POST', '/api/v1/mcp', {
      ...asAda,
      body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params },
    });
    const { secret, ownerId } = key.body.result.structuredContent;
    assert.equal(ownerId ?? workspace.adaId, workspace.adaId);
    assert.ok('output' in (await callTool(workspace, secret, 'list_audit_entries')));
  });

  it('leaves an audit entry for every step', async () => {
    const entries = await signInAudit(workspace);
    assert.deepEqual(entries.slice(0, 4), [
      { tool: 'sign_in_link', outcome: 'ok', door: 'rest', principal: 'anonymous' },
      { tool: 'sign_in_redeem', outcome: 'ok', door: 'rest', principal: 'anonymous' },
      { tool: 'create_session', outcome: 'ok', door: 'rest', principal: 'session' },
      { tool: 'get_session', outcome: 'ok', door: 'rest', principal: 'session' },
    ]);
  });

  it('is over for the cookie too, once signed out', async () => {
    const Cookie = client.cookieHeader(workspace.baseUrl);
    await client.send();
    assert.deepEqual([client.page.url.pathname, client.page.heading], ['/sign-in', 'Sign in to Acme & Co']);
    assert.match(client.page.text, /You are signed out/);
    assert.doesNotMatch(client.cookieHeader(workspace.baseUrl), /admin-session/);
    assert.equal((await rest(workspace, 'GET', '/api/v1/auth/session', { headers: { Cookie } })).status, 401);
    assert.equal((await client.open('/')).url.pathname, '/sign-in');
    const last = (await signInAudit(workspace)).filter(({ tool }) => tool === 'delete_session');
    assert.deepEqual(last, [{ tool: 'delete_session', outcome: 'ok', door: 'rest', principal: 'session' }]);
  });
});

describe('a sign-in link', () => {
  let workspace: Workspace;
  before(async () => {
    workspace = await startWorkspace();
  });
  after(() => workspace.close());

  async function refused(client: WebClient): Promise<void> {
    assert.deepEqual([client.page.status, client.page.heading], [401, 'This link does not sign you in']);
    assert.equal(client.page.headers.get('WWW-Authenticate'), 'Bearer');
    assert.doesNotMatch(client.cookieHeader(workspace.baseUrl), /admin-session/);
    const last = (await signInAudit(workspace)).at(-1);
    assert.deepEqual([last?.tool, last?.outcome], ['sign_in_redeem', 'denied']);
  }

  it('is not used up by those who only look at it', async () => {
    const client = new WebClient();
    await askForLink(workspace, ADA, client);
    const link = await nextLink(workspace);
    for (const method of ['GET', 'HEAD', 'GET']) assert.equal((await fetch(link, { method })).status, 200);
    await client.open(link);
    await client.send();
    assert.equal(client.page.url.pathname, '/');
  });

  it('works once', async () => {
    const client = new WebClient();
    await askForLink(workspace, ADA, client);
    const link = await nextLink(workspace);
    await client.open(link);
    await client.send();
    assert.equal(client.page.url.pathname, '/');
    await client.send();
    await client.open(link);
    await client.send();
    await refused(client);
  });

  it('works in the browser that asked alone', async () => {
    await askForLink(workspace, ADA);
    const other = new WebClient();
    await other.open(await nextLink(workspace));
    await other.send();
    await refused(other);
  });

  it('works for one of two that follow it at once', async () => {
    const client = new WebClient();
    await askForLink(workspace, ADA, client);
    await client.open(await nextLink(workspace));
    const headers = { Cookie: client.cookieHeader(workspace.baseUrl) };
    const members = [...client.page.text.matchAll(/name="(\w+)" value="([^"]*)"/g)];
    const body = new URLSearchParams(Object.fromEntries(members.map(([, name, value]) => [name, value])));
    const answers = await Promise.all(
      [1, 2, 3].map(() =>
        fetch(`${workspace.baseUrl}/sign-in/link`, { method: 'POST', body, headers, redirect: 'manual' }),
      ),
    );
    assert.deepEqual(answers.map(({ status }) => status).sort(), [303, 401, 401]);
  });

  it('works within its time', async () => {
    const client = new WebClient();
    await askForLink(workspace, ADA, client);
    await client.open(await nextLink(workspace));
    await workspace.store.transaction(async (tx) => {
      const { records } = await tx.signInLinks.find({ limit: 1 });
      for (const { id } of records)
        await tx.signInLinks.touch(id, { expiresAt: new Date(Date.now() - 1000).toISOString() });
    });
    await client.send();
    await refused(client);
  });

  it('does not outlive the right to sign in', async () => {
    const { id } = await mustCall(workspace, workspace.adminKey, 'create_admin_user', { email: 'bob@example.com' });
    const client = new WebClient();
    await askForLink(workspace, 'bob@example.com', client);
    const first = await nextLink(workspace);
    await askForLink(workspace, 'bob@example.com', client);
    const second = await nextLink(workspace);
    await mustCall(workspace, workspace.adminKey, 'update_settings', { signInDomains: ['other.example'] });
    await client.open(first);
    await client.send();
    assert.equal(client.page.status, 401);
    await mustCall(workspace, workspace.adminKey, 'update_settings', { signInDomains: [] });
    await mustCall(workspace, workspace.adminKey, 'deactivate_admin_user', { id });
    await client.open(second);
    await client.send();
    assert.deepEqual([client.page.status, client.page.heading], [401, 'This link does not sign you in']);
    const last = (await signInAudit(workspace)).at(-1);
    assert.deepEqual([last?.tool, last?.outcome], ['create_session', 'denied']);
  });

  it('that somebody made up does not work', async () => {
    for (const token of ['', 'x', 'a'.repeat(5000), "' or 1=1", '"><script>alert(1)</script>']) {
      const client = new WebClient();
      await client.open(`${workspace.baseUrl}/sign-in/link?token=${encodeURIComponent(token)}`);
      assert.doesNotMatch(client.page.text, /<script/);
      await client.send();
      await refused(client);
    }
  });

  it('of the operator works in any browser', async () => {
    const { url } = await mustCall(workspace, workspace.adminKey, 'create_sign_in_link', { email: ADA });
    const client = new WebClient();
    await client.open(url);
    await client.send();
    assert.match(client.page.text, /signed in as <strong>ada/);
  });
});

describe('asking for a link', () => {
  let workspace: Workspace;
  before(async () => {
    workspace = await startWorkspace();
    const { id } = await mustCall(workspace, workspace.adminKey, 'create_admin_user', { email: 'gone@example.com' });
    await mustCall(workspace, workspace.adminKey, 'deactivate_admin_user', { id });
  });
  after(() => workspace.close());

  it('never reveals who may sign in', async () => {
    const answers = new Set<string>();
    for (const email of [ADA, 'ADA@Example.COM', 'nobody@example.com', 'gone@example.com', 'admin@localhost']) {
      const client = new WebClient();
      const { status, url, text } = await askForLink(workspace, email, client);
      answers.add(JSON.stringify([status, url.pathname, text]));
    }
    assert.equal(answers.size, 1);
    const sent = [await workspace.mail.next(), await workspace.mail.next(), await workspace.mail.next()];
    await askForLink(workspace, ADA, new WebClient());
    await workspace.mail.next(); // mails are sent in the order in which links were asked for
    assert.equal(workspace.mail.mails.length, 4);
    assert.deepEqual(sent.flatMap(({ to }) => to.map((address) => address.toLowerCase())).sort(), [
      ADA,
      ADA,
      'admin@localhost',
    ]);
  });

  it('does not wait for the mail server, and does not reveal that it fails', async () => {
    const silent = stoppedAtEnd(createServer(() => {})).listen(0, '127.0.0.1');
    await new Promise((resolve) => silent.once('listening', resolve));
    const address = silent.address();
    assert.ok(typeof address === 'object' && address);
    const slow = await startWorkspace({ SMTP_URL: `smtp://127.0.0.1:${address.port}` });
    try {
      const { heading } = await askForLink(slow, ADA);
      assert.equal(heading, 'A link is on its way');
      const { integrations } = await mustCall(slow, slow.adminKey, 'get_system_health');
      const mail = integrations.find(({ name }: { name: string }) => name === 'mail');
      assert.equal(mail.lastError, 'It has not answered yet.');
    } finally {
      silent.close();
      await slow.close();
    }
  });

  it('is for the domains of the settings, where there are any', async () => {
    await mustCall(workspace, workspace.adminKey, 'update_settings', { signInDomains: ['other.example'] });
    const before = workspace.mail.mails.length;
    assert.equal((await askForLink(workspace, ADA)).heading, 'A link is on its way');
    await mustCall(workspace, workspace.adminKey, 'update_settings', { signInDomains: [] });
    await askForLink(workspace, ADA);
    await workspace.mail.next();
    assert.equal(workspace.mail.mails.length, before + 1);
  });

  it('names what is no address, as the text it is', async () => {
    const client = new WebClient();
    const page = await askForLink(workspace, '"><img src=x onerror=alert(1)>', client);
    assert.equal(page.status, 400);
    assert.match(page.text, /role="alert">Enter a whole e-mail address/);
    assert.doesNotMatch(page.text, /<img/);
    assert.match(page.text, /value="&quot;&gt;&lt;img/);
  });

  it('is refused when it is done too often', async () => {
    const answers = [];
    for (let count = 0; count < 6; count += 1) answers.push(await askForLink(workspace, 'often@example.com'));
    assert.deepEqual(pluck(answers, 'status'), [200, 200, 200, 200, 200, 429]);
    assert.equal(answers[5]?.heading, 'Too many attempts');
    assert.ok(Number(answers[5]?.headers.get('Retry-After')) > 0);
  });
});
