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

/** From the dashboard to the first call of a client, by what is shown for it and nothing else. */
export function connectJourneys(dashboard: TestDashboard): void {
  const { call, visit } = dashboard;

  it('connects each client by what it is given to paste, and sees it come', async () => {
    await visit('/connect', async (page) => {
      await choose(page, 'Cursor');
      await page.getByRole('radio', { name: 'Read and write' }).check({ force: true });
      await page.getByRole('button', { name: 'Make the key for Cursor' }).click();
      await page.getByText('Waiting for the first call of Cursor').waitFor();
      assert.deepEqual(await findingsOf(page), []);
      const cursor = JSON.parse(await pasted(page));
      const [server] = Object.values<{ url: string; headers: Record<string, string> }>(cursor.mcpServers);
      assert.ok(server);
      await use(httpTransport(server));
      await page.getByText('It works: a client has connected.').waitFor();
      assert.ok(!(await page.getByRole('main').textContent())?.includes('…'), 'nothing is left out of what is shown');

      await choose(page, 'VS Code');
      const [editor] = Object.values<typeof server>(JSON.parse(await pasted(page)).servers);
      assert.deepEqual(editor, { type: 'http', ...server });

      await choose(page, 'Claude Desktop');
      const desktop = JSON.parse(await pasted(page));
      const [program] = Object.values<{ args: string[]; env: Record<string, string> }>(desktop.mcpServers);
      assert.ok(program);
      const [isAsked, packageName, ...args] = program.args;
      assert.deepEqual([isAsked, packageName], ['-y', 'mcp-remote']);
      await use(await proxied(args, program.env));

      await choose(page, 'Claude Code');
      const command = await pasted(page);
      assert.ok(command.includes(`${server.url} --header "Authorization: ${server.headers.Authorization}"`), command);

      await choose(page, 'TypeScript');
      const script = ['--input-type=module', '--eval', `${await pasted(page)}\nprocess.exit(0);`];
      assert.match((await promisify(execFile)(process.execPath, script)).stdout, /list_skills/);
    });
    const { data } = await call('list_api_keys', { limit: 1 });
    assert.deepEqual([data[0].name, data[0].scopes], ['Cursor', ['write']]);
    await call('revoke_api_key', { id: data[0].id });
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
    await visit(`/capsules/${id}?tab=connect`, async (page) => {
      await choose(page, 'Cursor');
      await page.getByText('Clients with an earlier one go on for a day').waitFor();
      await page.getByRole('button', { name: 'Make a new token' }).click();
      await page.getByText('Waiting for the first call of Cursor').waitFor();
      const [server] = Object.values<typeof earlier>(JSON.parse(await pasted(page)).mcpServers);
      assert.ok(server);
      assert.notDeepEqual(server, earlier);
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
