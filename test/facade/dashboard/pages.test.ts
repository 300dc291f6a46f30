import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { kinds } from '../../../facade/dashboard/kinds.ts';
import { mustCall, rest } from '../../support/calls.ts';
import { withoutBrowser } from '../../support/chromium.ts';
import { findingsOf, inPage, PHONE, settled, testDashboard, WIDE } from '../../support/dashboard.ts';
import { FULL } from '../../support/full.ts';
import { OAuthClient } from '../../support/oauth.ts';

// together: one browser
if (withoutBrowser) console.log(`SKIPPED: the dashboard in a real browser, for ${withoutBrowser}.`);

interface ScrolledPage {
  readonly document: {
    readonly documentElement: { readonly scrollHeight: number };
    querySelector(selector: string): unknown;
  };
  scrollTo(left: number, top: number): void;
}

/** Of the page of a list, however long it is. */
const MOST_NODES = 2500;

/** As a busy browser, which tells several changes of what is in view at once; and one that tells none, once `globalThis.tellsNothing` is set. */
const TELLS_LATE = `
  const Watcher = globalThis.IntersectionObserver;
  globalThis.IntersectionObserver = class extends Watcher {
    constructor(tell, options) {
      const outOfView = { isIntersecting: false };
      super((changes, watcher) => globalThis.tellsNothing || tell([outOfView, ...changes], watcher), options);
    }
  };
`;

describe('the dashboard in a real browser', { skip: withoutBrowser }, () => {
  const dashboard = testDashboard();
  const { call, inWindow, visit } = dashboard;

  for (const [colorScheme, viewport] of [['light', undefined] as const, ['dark', PHONE] as const]) {
    it(`has pages without a complaint of the browser or of axe (${colorScheme})`, async () => {
      await visit({ path: '/', colorScheme, ...(viewport && { viewport }) }, async (page, window) => {
        const paths = await page
          .locator('.nav-link')
          .evaluateAll((links) => links.map((link) => link.getAttribute('href') ?? ''));
        assert.ok(paths.length > 20, paths.join());
        const { data: agents } = await call('list_agents', { limit: 1 });
        const subject = { type: 'agent', id: agents[0].id };
        const budget = await call('create_budget', { subject, measure: 'tokens', period: 'day', limit: 1000 });
        const all = [
          ...paths,
          `/agents/${agents[0].id}`,
          `/agents/${agents[0].id}/edit`,
          `/agents/${agents[0].id}?tab=budgets`,
          `/budgets/${budget.id}`,
          '/budgets/new',
          '/flows/new',
          '/tools/list_users',
          '/no/such/page',
        ];
        for (const [index, path] of all.entries()) {
          if (viewport && !FULL && index % 2 === 1 && !path.endsWith('/edit')) continue;
          await window.go(path);
          assert.equal(await page.locator('.error-box').count(), 0, path);
          assert.ok(await page.evaluate(inPage.fits), `${path} is too wide`);
          if (path.endsWith('/edit')) {
            const { y = 0, height = 0 } = (await page.getByRole('button', { name: 'Save' }).boundingBox()) ?? {};
            assert.ok(y > 0 && y + height <= (viewport ?? WIDE).height, 'the button is in view');
          }
          // axe takes seconds; pages are made of the same parts.
          if (FULL || index % 4 === (viewport ? 2 : 0)) assert.deepEqual(await findingsOf(page), [], path);
        }
        await call('delete_budget', { id: budget.id });
      });
    });
  }

  it('asks for what Home shows before its scripts are there, and once', async () => {
    await inWindow(async (page, window) => {
      const asked: (string | undefined)[] = [];
      page.on('request', (request) => asked.push(request.headers()['mcp-name']));
      const begun = page.waitForRequest((request) => request.headers()['mcp-name'] === 'get_mrr');
      await page.route('**/assets/main-*.js', async (route) => {
        await begun;
        await route.continue();
      });
      await window.open('/');
      await page.locator('.headline-number').first().waitFor();
      for (const tool of ['get_overview', 'get_traffic_visitors', 'get_mrr', 'get_system_health']) {
        assert.equal(asked.filter((each) => each === tool).length, 1, tool);
      }
    });
  });

  it('shows texts of records as the texts they are', async () => {
    const planted = '<img src=x onerror="globalThis.planted=1"><script>planted=1</script>{{1}}';
    const agent = await call('create_agent', {
      name: 'planted',
      displayName: planted,
      description: planted,
      instructions: planted,
    });
    const links = '[bad](javascript:planted=1) [good](https://example.com/)';
    const document = await call('create_document', { title: planted, content: `${planted}\n\n${links}` });
    const task = await call('create_task', { title: planted });
    const memory = await call('create_memory', { content: planted, kind: 'fact' });
    const artifact = await call('create_artifact', { name: planted, mimeType: 'text/html', content: planted });
    await inWindow(async (page, window) => {
      for (const path of [
        `/agents/${agent.id}`,
        `/documents/${document.id}`,
        `/tasks/${task.id}`,
        `/memory/${memory.id}`,
        `/artifacts/${artifact.id}`,
      ]) {
        await window.open(path);
        await page.getByText('<img src=x').first().waitFor();
        assert.equal(await page.evaluate('"planted" in globalThis'), false, path);
        assert.equal(await page.locator('img, #app script').count(), 0, path);
        const hrefs = await page
          .locator('.prose a')
          .evaluateAll((found) => found.map((link) => link.getAttribute('href')));
        assert.deepEqual(hrefs, path === `/documents/${document.id}` ? ['https://example.com/'] : [], path);
      }
    });
    for (const [kind, { id }] of Object.entries({ agent, document, task, memory, artifact }))
      await call(`delete_${kind}`, { id });
  });

  it('says that the API reference cannot be read, and reads it when asked again', async () => {
    await inWindow(async (page, window) => {
      let isAway = true;
      await page.route('**/api/v1/openapi', (route) => (isAway ? route.abort() : route.continue()));
      await window.open('/api-reference');
      await page.getByRole('alert').getByText('The server cannot be reached.').waitFor();
      isAway = false;
      await page.getByRole('button', { name: 'Try again' }).click();
      await page.getByText('/api/v1/agents', { exact: true }).first().waitFor();
    });
  });

  it('keeps where we are in sight in a navigation that is longer than the window, and folds its groups', async () => {
    await visit({ path: '/settings', viewport: { width: 1280, height: 500 } }, async (page) => {
      const here = page.locator('.nav-link[aria-current="page"]');
      await here.filter({ hasText: 'Settings' }).waitFor();
      assert.equal(await here.evaluate((link) => link.getBoundingClientRect().bottom <= 500), true);
      await page.getByRole('button', { name: 'Knowledge' }).click();
      assert.equal(await page.locator('.nav-link', { hasText: 'Documents' }).count(), 0);
      await page.reload();
      await here.filter({ hasText: 'Settings' }).waitFor();
      assert.equal(await page.locator('.nav-link', { hasText: 'Documents' }).count(), 0, 'it is remembered');
      await page.getByRole('button', { name: 'Knowledge' }).click();
      await page.locator('.nav-link', { hasText: 'Documents' }).waitFor();
    });
  });

  it('is used by the keyboard alone', async () => {
    await visit('/', async (page) => {
      await page.keyboard.press('/');
      await page.getByRole('combobox').fill('agents');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Agents' }).waitFor();
      await page.getByRole('link', { name: /^Mira/ }).focus();
      await page.keyboard.press('Enter');
      await page.getByRole('tab', { name: /^Overview/ }).focus();
      await page.keyboard.press('ArrowRight');
      await page.waitForURL(/tab=/);
      await page.getByRole('button', { name: 'More actions' }).focus();
      await page.keyboard.press('Enter');
      await page.keyboard.press('Tab');
      await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      await page.getByRole('dialog', { name: 'Delete Mira?' }).waitFor();
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await page.keyboard.press('Control+k');
      await page.getByRole('dialog', { name: 'Search' }).waitFor();
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
    });
  });

  it('shows both states where somebody else changed a record meanwhile', async () => {
    const { id } = await call('create_skill', { name: 'greeting', instructions: 'Say hello.' });
    await visit(`/skills/${id}/edit`, async (page) => {
      await call('update_skill', { id, instructions: 'Say good day.' });
      await page.getByLabel('Instructions').fill('Say hi.');
      await page.getByRole('button', { name: 'Save' }).click();
      const dialog = page.getByRole('dialog', { name: 'Somebody else changed this meanwhile' });
      await dialog.getByText('Say good day.').waitFor();
      await dialog.getByText('Say hi.').waitFor();
      assert.deepEqual(await findingsOf(page), []);
      await dialog.getByRole('button', { name: 'Overwrite with mine' }).click();
      await page.waitForURL(`**/skills/${id}`);
    });
    assert.equal((await call('get_skill', { id })).instructions, 'Say hi.');
    await call('delete_skill', { id });
  });

  it('deletes what has versions after a question, and brings it back', async () => {
    const { id } = await call('create_document', { title: 'Plans', content: 'One.\nTwo.' });
    await visit(`/documents/${id}`, async (page) => {
      await page.getByRole('button', { name: 'More actions' }).click();
      await page.getByRole('button', { name: 'Delete', exact: true }).click();
      await page.getByRole('button', { name: 'Delete document' }).click();
      await page.getByRole('link', { name: 'Restore it' }).click();
      await settled(page);
      await page.getByRole('button', { name: /^Revision 1/ }).click();
      await page.getByRole('button', { name: 'Restore', exact: true }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Restore' }).click();
      await page.getByText('Revision 1 is back.').waitFor();
    });
    assert.equal((await call('get_document', { id })).content, 'One.\nTwo.');
  });

  it('has typed the name of what nothing brings back', async () => {
    const { id } = await call('create_goal', { title: 'Grow', projectId: (await call('list_projects')).data[0].id });
    await visit(`/goals/${id}`, async (page) => {
      await page.getByRole('button', { name: 'More actions' }).click();
      await page.getByRole('button', { name: 'Delete', exact: true }).click();
      const button = page.getByRole('button', { name: 'Delete goal' });
      assert.equal(await button.isDisabled(), true);
      await page.getByRole('dialog').getByRole('textbox').fill('Grow');
      await button.click();
      await page.getByText('Grow is deleted.').waitFor();
    });
  });

  it('stands at the fields what the server finds wrong, else with the request by which the audit log knows it', async () => {
    await visit('/tools/list_agents', async (page, window) => {
      await page.getByLabel('Cursor').fill('made up');
      await page.getByRole('button', { name: 'Run' }).click();
      await page.locator('[aria-invalid="true"]').waitFor();
      assert.deepEqual(await findingsOf(page), []);
      await window.go('/tools/get_agent_run');
      await page.locator('form .input').first().fill('run_none');
      await page.getByRole('button', { name: 'Run' }).click();
      await page.getByRole('alert').first().waitFor();
      await page.getByRole('link', { name: 'See it in the audit log' }).click();
      await page.waitForURL(/\/audit\?requestId=/);
      await page.getByRole('cell', { name: 'get_agent_run' }).waitFor();
    });
  });

  it('opens the audit log on what changed, and shows reads too where that is asked', async () => {
    const { id } = await call('create_skill', { name: 'audited', instructions: 'Once.' });
    await call('get_skill', { id });
    await inWindow(async (page, window) => {
      const reads = page.getByRole('checkbox', { name: 'Include reads' });
      const counted = () =>
        Promise.all(['create_skill', 'get_skill'].map((name) => page.getByRole('cell', { name, exact: true }).count()));
      await window.open('/audit');
      const [changes, none] = await counted();
      assert.ok(Number(changes) > 0);
      assert.deepEqual([none, await reads.isChecked()], [0, false]);
      await reads.check();
      await page.waitForURL('**/audit?changes=false');
      await page.getByRole('cell', { name: 'get_skill', exact: true }).first().waitFor();
      await page.reload();
      await page.getByRole('cell', { name: 'get_skill', exact: true }).first().waitFor();
      assert.equal(await reads.isChecked(), true);
      // Whoever follows one record, request or person sees all of its calls.
      await window.open(`/audit?recordId=${id}`);
      assert.deepEqual([await counted(), await reads.isChecked()], [[1, 1], true]);
    });
    await call('delete_skill', { id });
  });

  it('shows the entry whose address is opened, and says why the list beside it has it not', async () => {
    const { id } = await call('create_skill', { name: 'looked up', instructions: 'Once.' });
    await call('get_skill', { id });
    const [read, made] = (await call('list_audit_entries', { recordId: id })).data;
    await inWindow(async (page, window) => {
      const pane = page.getByRole('region', { name: read.tool, exact: true });
      await window.open(`/audit/${read.id}`);
      await pane.getByText(id).first().waitFor();
      await pane.getByText('The call only read').waitFor();
      assert.deepEqual(await findingsOf(page), []);
      await pane.getByRole('link', { name: 'Show reads' }).click();
      await page.waitForURL(`**/audit/${read.id}?changes=false`);
      await page.locator('tbody').getByText('get_skill', { exact: true }).first().waitFor();
      assert.equal(await pane.getByRole('note').count(), 0);
      await window.go(`/audit/${read.id}?changes=false&tool=create_agent`);
      await pane.getByText('The filters leave it out').waitFor();
      await window.go(`/audit/${made.id}`);
      const other = page.getByRole('region', { name: made.tool, exact: true });
      await other.waitFor();
      assert.equal(await other.getByRole('note').count(), 0);
      await window.go('/audit/aud_none');
      await page.getByText('There is no such entry').waitFor();
    });
    await call('delete_skill', { id });
  });

  it('shows the versions of every kind of record that has some', async () => {
    const { inputSchema } = await call('describe_tool', { name: 'list_versions' });
    const withPages = Object.entries(kinds).filter(([name]) => inputSchema.properties.entityType.enum.includes(name));
    assert.ok(withPages.length >= 7, String(withPages.map(([name]) => name)));
    await visit('/', async (page, window) => {
      for (const [, { list, path }] of withPages) {
        const { data } = await call(list, { limit: 1 });
        await window.go(`${path}/${data[0].id}`);
        await page.getByRole('tab', { name: 'Versions' }).waitFor();
      }
    });
  });

  it('narrows a list to what one caller did, picked by name or by an id that is in no list', async () => {
    const { data: agents } = await call('list_agents');
    const { id } = agents.find(({ displayName }: { readonly displayName: string }) => displayName === 'Mira');
    await visit({ path: '/audit', viewport: PHONE }, async (page, window) => {
      await page.getByRole('button', { name: 'Filters', exact: true }).click();
      await page.getByRole('button', { name: 'Who', exact: true }).click();
      for (const group of ['People', 'Keys', 'Capsules', 'Agents']) {
        await page.getByRole('group', { name: group }).getByRole('button').first().waitFor();
      }
      assert.deepEqual(await findingsOf(page), []);
      await page.getByRole('searchbox', { name: 'Name or id' }).fill('mira');
      await page.keyboard.press('Enter');
      await page.waitForURL(`**/audit?principal=${id}`);
      await page.getByRole('button', { name: 'Who: Mira' }).waitFor();
      assert.equal(await page.getByRole('searchbox', { name: 'Name or id' }).count(), 0);
      await window.go('/runs');
      await page.getByRole('button', { name: 'Filters', exact: true }).click();
      await page.getByRole('button', { name: 'Who', exact: true }).click();
      await page.getByRole('searchbox', { name: 'Name or id' }).fill('key_gone');
      await page.getByRole('button', { name: 'Use the id key_gone' }).click();
      await page.waitForURL('**/runs?principal=key_gone');
      await page.getByText('No runs match').waitFor();
      await page.getByRole('button', { name: 'Who: key_gone' }).click();
      await page.getByRole('button', { name: 'Clear', exact: true }).click();
      await page.waitForURL('**/runs');
      assert.ok(await page.evaluate(inPage.fits));
    });
  });

  it('names a connected app wherever callers are shown or picked, with the way to it', async () => {
    const client = await OAuthClient.registered(dashboard.server, { client_name: 'Notebook' });
    const { body } = await client.redeem(await client.code());
    await mustCall(dashboard.server, body.access_token, 'list_skills');
    const [{ id }] = (await call('list_connected_apps')).data;
    const [entry] = (await call('list_audit_entries', { principal: id, tool: 'list_skills' })).data;
    await visit('/audit', async (page, window) => {
      await page.getByRole('button', { name: 'Who', exact: true }).click();
      const apps = page.getByRole('group', { name: 'Connected apps' });
      await apps.getByRole('button', { name: 'Notebook (this computer)' }).click();
      await page.waitForURL(`**/audit?principal=${id}`);
      await page.getByRole('button', { name: 'Who: Notebook (this computer)' }).waitFor();
      await window.go(`/audit/${entry.id}`);
      await page.getByRole('region', { name: 'list_skills' }).getByRole('link', { name: 'Notebook' }).click();
      await page.waitForURL(`**/apps/${id}`);
      await page.getByRole('heading', { name: 'Notebook' }).waitFor();
    });
    await call('disconnect_app', { id });
  });

  it('has on a phone the tool of a call and the actions of a record in one line each, and says why a call was refused', async () => {
    const { adminKey: key } = dashboard.server;
    assert.equal((await rest(dashboard.server, 'GET', '/api/v1/agents/agt_none', { key })).status, 404);
    const { data: capsules } = await call('list_capsules');
    await visit({ path: '/audit', viewport: PHONE }, async (page, window) => {
      await page.locator('tbody').getByText('send_chat_message').first().waitFor();
      const heights = await page
        .locator('tbody .name-words > .mono')
        .evaluateAll((names) => names.map((name) => Math.round(name.getBoundingClientRect().height)));
      assert.equal(new Set(heights).size, 1, heights.join());
      await window.go('/audit?tool=get_agent');
      await page.getByText('Not found').filter({ visible: true }).first().waitFor();
      await window.go(`/capsules/${capsules[0].id}`);
      const tops = await page
        .locator('.detail-bar')
        .locator('button, a')
        .filter({ visible: true })
        .evaluateAll((buttons) => buttons.map((button) => Math.round(button.getBoundingClientRect().top)));
      assert.ok(tops.length > 4 && new Set(tops).size === 1, tops.join());
    });
  });

  it('shows the totals of usage in rows that scroll with the page, and a search as one line', async () => {
    const { data: agents } = await call('list_agents', { limit: 1 });
    for (const viewport of [WIDE, PHONE]) {
      await visit({ path: '/usage', viewport }, async (page, window) => {
        const style =
          "(({ display, position }) => [display, position])(getComputedStyle(document.querySelector('.headlines')))";
        assert.deepEqual(await page.evaluate(style), ['grid', 'static']);
        await window.go(`/agents/${agents[0].id}?tab=can`);
        const { height = 0 } =
          (await page.locator('.filter-text', { has: page.getByLabel('Find a tool') }).boundingBox()) ?? {};
        assert.ok(height > 20 && height < 50, `${height} px`);
      });
    }
  });

  it('hears in every tab of what others change, over one stream', async () => {
    const { id } = await call('create_skill', { name: 'live', instructions: 'Before.' });
    await inWindow(async (page, { context, open }) => {
      await open(`/skills/${id}`);
      const other = await context.newPage();
      await other.goto(`${dashboard.server.baseUrl}/skills/${id}`);
      await other.getByText('Before.').waitFor();
      await page.waitForTimeout(500); // the stream begins again for what a new page follows
      await call('update_skill', { id, instructions: 'After.' });
      await Promise.all([page, other].map((tab) => tab.getByText('After.').waitFor()));
    });
    await call('delete_skill', { id });
  });

  it('shows to a person with a limit what they may do, and nothing else', async () => {
    await call('create_admin_user', { email: 'reader@example.com', name: 'Reader', access: { scopes: ['read'] } });
    const { data: agents } = await call('list_agents', { limit: 1 });
    await visit({ path: `/agents/${agents[0].id}`, email: 'reader@example.com' }, async (page, window) => {
      const [names, links] = await Promise.all([
        page.getByRole('button').or(page.getByRole('link')).allTextContents(),
        page.locator('.nav-link').allTextContents(),
      ]);
      assert.deepEqual(
        names.filter((name) => /^(New|Edit|Chat|Delete|Pause)/.test(name) && name !== 'Chat'),
        [],
      );
      assert.equal(await page.getByRole('button', { name: 'More actions' }).count(), 0);
      assert.ok(links.includes('Documents') && !links.includes('Settings') && !links.includes('Audit'), links.join());
      await window.open('/settings');
      await page.getByText('You have no access to this page').waitFor();
      await window.open('/agents/new');
      assert.equal(await page.getByRole('button', { name: /^Create/ }).count(), 0);
      const forced = await page.evaluate(async () => {
        const response = await fetch('/api/v1/agents', {
          method: 'POST',
          headers: { 'Content-Type': 'application/json' },
          body: JSON.stringify({ name: 'mine', displayName: 'Mine' }),
        });
        return response.status;
      });
      assert.equal(forced, 403);
    });
  });

  it('draws of a long list what is in view', async () => {
    await inWindow(async (page, window) => {
      await page.addInitScript(TELLS_LATE);
      await window.open('/users');
      const counted = (await page.locator('.page-count').textContent()) ?? '';
      assert.match(counted, /^\d,\d{3}$/);
      // One page after the other, as they come into view, and some left at the end.
      const last = FULL ? Number(counted.replace(',', '')) - 300 : 601;
      for (let row = 301; row <= last; row += 300) {
        await page.waitForFunction((wanted) => {
          const { document, scrollTo } = globalThis as unknown as ScrolledPage; // in the page
          scrollTo(0, document.documentElement.scrollHeight);
          return document.querySelector(`tr[aria-rowindex="${wanted}"]`) !== null;
        }, row);
        const nodes = await page.evaluate<number>("document.querySelectorAll('*').length");
        assert.ok(nodes < MOST_NODES, `${nodes} nodes at row ${row}`);
      }
      await page.evaluate('tellsNothing = true');
      const height = await page.evaluate<number>('document.documentElement.scrollHeight');
      await page.getByRole('button', { name: 'Load more' }).click();
      await page.waitForFunction((before) => {
        const { document } = globalThis as unknown as ScrolledPage; // in the page
        return document.documentElement.scrollHeight > before;
      }, height);
      await page.evaluate('scrollTo(0, 0)');
      await page.locator('tr[aria-rowindex="2"]').waitFor();
      assert.deepEqual(await findingsOf(page), []);
    });
  });

  it('signs out', async () => {
    await visit({ path: '/flows', fresh: true }, async (page) => {
      await page.getByRole('button', { name: 'admin@localhost' }).click();
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByRole('status').filter({ hasText: 'You are signed out.' }).waitFor();
      await page.goto(`${dashboard.server.baseUrl}/agents`);
      await page.waitForURL('**/sign-in');
    });
  });
});
