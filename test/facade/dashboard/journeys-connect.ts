import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type { Page } from 'playwright-core';
import { mustCall } from '../../support/calls.ts';
import { findingsOf, PHONE, type TestDashboard } from '../../support/dashboard.ts';
import { signIn } from '../../support/sign-in.ts';
import { until } from '../../support/until.ts';

/** From the dashboard to the first call of a client, by what is shown for it and nothing else. */
export function connectJourneys(dashboard: TestDashboard): void {
  const { call, visit } = dashboard;

  it('connects each client by what it is given to paste, and sees it come', async () => {
    await visit('/connect', async (page) => {
      await makeKey(page, 'Cursor', 'Read and write');
      await page.getByText('Waiting for the first call of Cursor').waitFor();
      await page.getByText('Key “Cursor”: Read and write').waitFor();
      assert.deepEqual(await findingsOf(page), []);
      const cursor = JSON.parse(await pasted(page));
      const [server] = Object.values<{ url: string; headers: Record<string, string> }>(cursor.mcpServers);
      assert.ok(server);
      // Of more tools than it shows, it sees those that lead to the others; or all, where that is chosen.
      assert.ok(server.url.endsWith('?mode=search'), server.url);
      await use(httpTransport(server));
      await page.getByRole('radio', { name: 'All at once' }).check({ force: true });
      assert.ok(!(await pasted(page)).includes('?mode=search'));
      await page.getByText('It works: a client has connected.').waitFor();
      assert.ok(!(await page.getByRole('main').textContent())?.includes('…'), 'nothing is left out of what is shown');

      await makeKey(page, 'VS Code', 'Read');
      const [editor] = Object.values<typeof server>(JSON.parse(await pasted(page)).servers);
      assert.ok(editor);
      assert.equal(editor.url, server.url.replace('?mode=search', ''));
      assert.notDeepEqual(editor.headers, server.headers, 'each client has a key of its own');
      await choose(page, 'Cursor');
      await page.getByText('Key “Cursor”: Read and write').waitFor();

      await makeKey(page, 'Claude Desktop', 'Everything');
      const desktop = JSON.parse(await pasted(page));
      const [program] = Object.values<{ args: string[]; env: Record<string, string> }>(desktop.mcpServers);
      assert.ok(program);
      const [isAsked, packageName, ...args] = program.args;
      assert.deepEqual([isAsked, packageName], ['-y', 'mcp-remote']);
      await use(await proxied(args, program.env));

      await makeKey(page, 'Claude Code', 'Read');
      const command = await pasted(page);
      assert.ok(command.includes(`${editor.url} --header "Authorization: Bearer `), command);

      await makeKey(page, 'TypeScript', 'Read');
      const script = ['--input-type=module', '--eval', `${await pasted(page)}\nprocess.exit(0);`];
      assert.match((await promisify(execFile)(process.execPath, script)).stdout, /list_skills/);
    });
    const made = {
      TypeScript: 'read',
      'Claude Code': 'read',
      'Claude Desktop': 'admin',
      'VS Code': 'read',
      Cursor: 'write',
    };
    const { data } = await call('list_api_keys', { limit: Object.keys(made).length });
    const scopes = data.map(({ name, scopes: [scope] }: { name: string; scopes: string[] }) => [name, scope]);
    assert.deepEqual(Object.fromEntries(scopes), made);
    for (const { id } of data) await call('revoke_api_key', { id });
  });

  it('says how a client signs in, and what a hosted one needs', async () => {
    await visit('/connect', async (page) => {
      await choose(page, 'Claude');
      await page.getByText('Claude calls from the internet').waitFor();
      await page.getByText('Waiting for Claude to sign in').waitFor();
      await page.setViewportSize(PHONE);
      assert.deepEqual(await findingsOf(page), []);
      await choose(page, 'Claude Code');
      await page.getByRole('radio', { name: 'By signing in' }).check({ force: true });
      await page.getByText('claude mcp add --transport http agent-admin http').waitFor();
    });
  });

  it('gives a client of a capsule a new token, beside which the earlier one goes on', async () => {
    const { id, token } = await mustCall(
      dashboard.server,
      await signIn(dashboard.server, 'admin@localhost'),
      'create_capsule',
      {
        name: 'Kiosk',
        allowedTools: ['list_skills'],
        status: 'live',
      },
    );
    const url = `${dashboard.server.baseUrl}/api/capsules/${id}/mcp`;
    const earlier = { url, headers: { Authorization: `Bearer ${token}` } };
    await use(httpTransport(earlier));
    const now = async () => (await call('get_capsule', { id })) as { callCount: number; tokenUsedAt?: string };
    await until(async () => (await now()).tokenUsedAt !== undefined);
    await visit(`/capsules/${id}?tab=connect`, async (page) => {
      await choose(page, 'Cursor');
      await page.getByText('Clients with an earlier one go on for a day').waitFor();
      await page.getByRole('button', { name: 'Make a new token' }).click();
      await page.getByText('Waiting for the first call of Cursor').waitFor();
      const [server] = Object.values<typeof earlier>(JSON.parse(await pasted(page)).mcpServers);
      assert.ok(server);
      assert.notDeepEqual(server, earlier);
      // A call by the earlier token is no call of this client.
      await use(httpTransport(earlier));
      await until(async () => (await now()).callCount === 2);
      assert.equal((await now()).tokenUsedAt, undefined);
      await use(httpTransport(server));
      await page.getByText('It works: a client has connected.').waitFor();
      await use(httpTransport(earlier));
    });
    await call('delete_capsule', { id });
  });
}

async function choose(page: Page, client: string): Promise<void> {
  await page.getByRole('group', { name: 'Client' }).getByText(client, { exact: true }).click();
}

async function makeKey(page: Page, client: string, level: string): Promise<void> {
  await choose(page, client);
  await page.getByRole('radio', { name: new RegExp(`^${level} [A-Z]`) }).check({ force: true });
  await page.getByRole('button', { name: `Make the key for ${client}` }).click();
  await page.getByText(`Put this into ${client}`).waitFor();
}

async function pasted(page: Page): Promise<string> {
  return (await page.locator('.connect pre code').last().textContent()) ?? '';
}

function httpTransport({ url, headers }: { url: string; headers: Record<string, string> }) {
  return new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
}

/** mcp-remote with these arguments, as npx would start it. */
async function proxied(args: readonly string[], env: Readonly<Record<string, string>>) {
  const folder = await mkdtemp(join(tmpdir(), 'mcp-remote-'));
  return new StdioClientTransport({
    command: process.execPath,
    args: [fileURLToPath(import.meta.resolve('mcp-remote/dist/proxy.js')), ...args],
    env: { PATH: process.env.PATH ?? '', HOME: folder, MCP_REMOTE_CONFIG_DIR: folder, ...env },
    stderr: 'ignore',
  });
}

async function use(transport: StreamableHTTPClientTransport | StdioClientTransport): Promise<void> {
  const client = new Client({ name: 'test', version: '1.0.0' });
  await client.connect(transport);
  const { isError } = await client.callTool({ name: 'list_skills', arguments: {} });
  assert.notEqual(isError, true);
  await client.close();
}
