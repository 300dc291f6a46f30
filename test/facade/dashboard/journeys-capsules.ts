import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { findingsOf, type TestDashboard } from '../../support/dashboard.ts';
import { secretIn } from './secret-in.ts';

/** Capsules and what else connects clients. */
export function capsulesJourneys(dashboard: TestDashboard): void {
  const { call, inWindow } = dashboard;

  it('makes a capsule, previewed while it is picked, that an MCP client then uses', async () => {
    await inWindow(async (page, window) => {
      await window.open('/capsules/new');
      await page.getByLabel('Name').first().fill('Help desk');
      await page.getByLabel('Name or pattern of tools').fill('list_skills');
      await page.getByLabel('Name or pattern of tools').press('Enter');
      await page.getByText('1 tool, about').waitFor();
      await page.getByRole('button', { name: 'Create capsule' }).click();
      const dialog = page.getByRole('dialog');
      const token = (await dialog.locator('.secret code').textContent()) ?? '';
      const snippet = await dialog.locator('.connect code').textContent();
      const [url = ''] = /http\S+\/mcp/.exec(snippet ?? '') ?? [];
      assert.ok(url, `no address in ${snippet}`);
      await dialog.getByText('Waiting for the first client').waitFor();
      const client = new Client({ name: 'test', version: '1.0.0' });
      const requestInit = { headers: { Authorization: `Bearer ${token}` } };
      await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
      const { tools } = await client.listTools();
      assert.deepEqual(
        tools.map(({ name }) => name),
        ['list_skills'],
      );
      await client.callTool({ name: 'list_skills', arguments: {} });
      await client.close();
      await dialog.getByText('It works').waitFor();
      assert.equal(await secretIn(page), token);
      await page.getByRole('tab', { name: 'Use' }).click();
      await page.getByRole('cell', { name: 'list_skills' }).waitFor();
      const statusOf = async (bearer: string) =>
        (await fetch(url, { headers: { Authorization: `Bearer ${bearer}` } })).status;
      await page.getByRole('button', { name: 'New token' }).click();
      await page.getByRole('radio', { name: 'In 1 hour' }).check({ force: true });
      await page.getByRole('button', { name: 'Make the token' }).click();
      const second = await secretIn(page);
      await page.getByRole('tab', { name: 'Overview' }).click();
      await page.getByText(/works until .*, (60|59) minutes more\./).waitFor();
      assert.deepEqual([await statusOf(token), await statusOf(second)], [200, 200]);
      await page.getByRole('button', { name: 'End it now' }).click();
      await page.getByRole('button', { name: 'End now', exact: true }).click();
      await page.locator('.countdown').waitFor({ state: 'detached' });
      assert.deepEqual([await statusOf(token), await statusOf(second)], [401, 200]);
    });
  });

  it('fixes arguments of a capsule by the controls of its tools, or as JSON', async () => {
    const { id } = await call('create_capsule', { name: 'Fixed', allowedTools: ['list_skills', 'list_agents'] });
    await inWindow(async (page, window) => {
      await window.open(`/capsules/${id}/edit`);
      await page.getByLabel('Fix arguments of a tool').selectOption('list_agents');
      const tool = page.getByRole('region', { name: 'List agents' });
      await tool.getByLabel('Fix an argument').selectOption('status');
      await tool.getByRole('combobox', { name: /^Status/ }).selectOption('paused');
      await tool.getByLabel('Fix an argument').selectOption('limit');
      await tool.getByRole('spinbutton').fill('5');
      assert.deepEqual(await findingsOf(page), []);
      await page.getByRole('radio', { name: 'JSON' }).check({ force: true });
      const json = page.getByLabel('Constraints as JSON').last();
      assert.deepEqual(JSON.parse(await json.inputValue()), { list_agents: { status: 'paused', limit: 5 } });
      await page.getByRole('button', { name: 'Save' }).click();
      await page.waitForURL(`**/capsules/${id}`);
    });
    assert.deepEqual((await call('get_capsule', { id })).constraints, { list_agents: { status: 'paused', limit: 5 } });
    await call('delete_capsule', { id });
  });

  it('selects what the browser does not let it copy, and says so', async () => {
    await inWindow(async (page, window) => {
      await window.open('/apps');
      await page.evaluate("navigator.clipboard.writeText = () => Promise.reject(new Error('refused'))");
      await page.locator('.empty-connect').getByRole('button', { name: 'Copy' }).click();
      await page.getByText('The browser did not let this page copy.').waitFor();
      assert.match(String(await page.evaluate('String(getSelection())')), /mcp/);
    });
  });
}
