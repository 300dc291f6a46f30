import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type ShownRun, timeLineOf } from '../../../facade/dashboard/pages/runs/spans.ts';
import { withoutBrowser } from '../../support/chromium.ts';
import { findingsOf, inPage, PHONE, testDashboard, WIDE } from '../../support/dashboard.ts';
import { type ModelServer, startModelServer } from '../../support/model-server.ts';
import { startTestServer } from '../../support/server.ts';

// together: one browser
const usage = { inputTokens: 10, outputTokens: 5 };
const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();

describe('the time line of a run', () => {
  const run = {
    ...{ id: 'run_1', kind: 'chat', status: 'succeeded', model: 'a/b', steps: 2, usage, hidden: 0, revision: 1 },
    ...{
      principal: { type: 'session', id: 'usr_1', name: 'Ada' },
      createdAt: at(0),
      updatedAt: at(9),
      finishedAt: at(9),
    },
    turns: [
      { model: 'a/b', usage, at: at(2), ms: 1000, calls: 1, cutOff: true },
      { model: 'a/b', usage, at: at(4), ms: 1000, calls: 1 },
    ],
    calls: [{ turn: 2, tool: 'get_skill', outcome: 'ok', at: at(5), ms: 500, records: [] }],
    fallbacks: [{ model: 'c/d', reason: 'overloaded', turn: 1 }],
  } as const satisfies ShownRun;
  const told = (given: ShownRun, now?: number) =>
    timeLineOf(given, now).spans.map(({ kind, from, to }) => [
      kind,
      (from - Date.parse(at(0))) / 1000,
      (to - Date.parse(at(0))) / 1000,
    ]);

  it('has turns, retries, other models and calls where they were', () => {
    assert.deepEqual(told(run), [
      ['fallback', 0, 2],
      ['turn', 2, 3],
      ['turn', 4, 5],
      ['call', 5, 5.5],
    ]);
    assert.deepEqual(
      timeLineOf(run).spans.flatMap((span) => (span.kind === 'turn' ? [span.isRetry] : [])),
      [false, true],
    );
  });

  it('puts one after the other what has no time', () => {
    const untimed = {
      ...run,
      fallbacks: [],
      turns: run.turns.map(({ at: _, ...turn }) => turn),
      calls: run.calls.map(({ at: _, ...call }) => call),
    };
    assert.deepEqual(told(untimed), [
      ['turn', 0, 1],
      ['turn', 1, 2],
      ['call', 2, 2.5],
    ]);
  });

  it('lasts until now where it waits or goes on, and never ends before it began', () => {
    const { finishedAt: _, ...open } = { ...run, status: 'waiting' as const };
    assert.deepEqual(told(open, Date.parse(at(20))).at(-1), ['wait', 5.5, 20]);
    assert.deepEqual(told({ ...open, status: 'running' }, Date.parse(at(1))).at(-1), ['open', 5.5, 5.5]);
    const { turns: _t, calls: _c, fallbacks: _f, ...empty } = run;
    assert.deepEqual(timeLineOf({ ...empty, finishedAt: at(0) }), {
      spans: [],
      from: Date.parse(at(0)),
      to: Date.parse(at(0)) + 1,
    });
  });
});

describe('what an agent did, in the dashboard', { skip: withoutBrowser }, () => {
  let models: ModelServer;
  const { call, visit } = testDashboard(async () => {
    models = await startModelServer();
    return startTestServer({ MODEL_BASE_URL: models.baseUrl, MODEL_NAME: 'tiny' });
  });
  let skillId = '';
  let threadId = '';
  let runId = '';
  before(async () => {
    const prices = [{ model: 'custom/tiny', from: '2026-01-01', currency: 'USD', input: 2_000, output: 4_000 }];
    await call('update_settings', { currency: 'USD', prices });
    skillId = (await call('create_skill', { name: 'refunds', displayName: 'Refunds', instructions: 'Within 5 days.' }))
      .id;
    const tools = ['get_skill', 'update_skill'];
    const agent = await call('create_agent', {
      name: 'ada',
      displayName: 'Ada',
      tools,
      modelPreference: 'custom/tiny',
    });
    models.play(({ messages }) =>
      messages.at(-1)?.role === 'user'
        ? { calls: [{ name: 'update_skill', arguments: { id: skillId, instructions: 'Within 3 days.' } }] }
        : { text: 'Done.' },
    );
    ({ threadId, runId } = await call('send_chat_message', { agentId: agent.id, message: 'Three days, please' }));
  });
  after(() => models?.close());

  it('is a trace of turns and calls in time, each with what went in and out, tokens and cost', async () => {
    const { turns, calls, cost } = await call('get_agent_run', { id: runId });
    assert.ok(turns.every((turn: { at: string }) => !Number.isNaN(Date.parse(turn.at))));
    assert.ok(
      Date.parse(calls[0].at) >= Date.parse(turns[0].at) && Date.parse(calls[0].at) <= Date.parse(turns[1].at) + 1,
    );
    // Ten tokens read and five written in each of two turns.
    assert.deepEqual([cost, turns[0].cost], [0.08, 0.04]);
    for (const options of [{ viewport: WIDE }, { viewport: WIDE, colorScheme: 'dark' as const }, { viewport: PHONE }])
      await visit({ path: `/runs/${runId}`, ...options }, async (page) => {
        const rows = page.locator('.trace-span > summary');
        await rows.first().waitFor();
        assert.deepEqual(await page.locator('.trace-name').allTextContents(), ['Turn 1', 'update_skill ', 'Turn 2']);
        await page.getByText('$0.08').waitFor();
        await rows.first().focus();
        await page.keyboard.press('ArrowDown');
        await page.keyboard.press('Enter');
        await page.getByLabel('Input of update_skill').getByText('Within 3 days.').waitFor();
        await page.getByLabel('Answer of update_skill').getByText('"revision": 2').waitFor();
        await page.keyboard.press('ArrowDown');
        await page.keyboard.press('Enter');
        await page.getByText('10 tokens').first().waitFor();
        await page.locator('.trace-span').getByText('Done.').waitFor();
        assert.deepEqual(await findingsOf(page), []);
        assert.ok(await page.evaluate(inPage.fits));
        if (process.env.PICTURE)
          await page.screenshot({
            path: `${process.env.PICTURE}-trace-${options.viewport.width}${options.colorScheme ?? ''}.png`,
            fullPage: true,
          });
      });
  });

  it('shows what an answer cost to nobody who may not read usage', async () => {
    const email = 'reader@example.com';
    await call('create_admin_user', { email, access: { scopes: ['write'] } });
    await visit({ path: `/chat/${threadId}`, email }, async (page) => {
      await page.getByText('Done.').waitFor();
      assert.equal(await page.locator('.spent').count(), 0);
      assert.equal(await page.getByText('$0.08').count(), 0);
    });
    await visit({ path: `/runs/${runId}`, email }, async (page) => {
      await page.getByText('Turn 2').waitFor();
      assert.equal(await page.getByText('$0.0').count(), 0);
    });
  });

  it('is explained and taken back in three clicks from its answer', async () => {
    await visit({ path: `/chat/${threadId}` }, async (page) => {
      const spent = page.locator('.spent');
      await spent.getByText('$0.08').waitFor();
      await spent.click();
      await spent.getByText('20 tokens read, 10 written').waitFor();
      let clicks = 0;
      const click = async (name: string | RegExp) => {
        clicks += 1;
        await page.getByRole('button', { name }).click();
      };
      await click('Why?');
      const why = page.getByRole('dialog', { name: 'Why it said that' });
      await why.getByText('update_skill').first().waitFor();
      assert.deepEqual(await findingsOf(page), []);
      if (process.env.PICTURE) await page.screenshot({ path: `${process.env.PICTURE}-why.png` });
      await click('Undo changes');
      await page.getByRole('dialog', { name: 'Undo changes' }).getByText('as in revision 1').waitFor();
      await click('Undo in 1 record');
      await page.getByText('1 record put back.').waitFor();
      assert.equal(clicks, 3);
    });
    assert.equal((await call('get_skill', { id: skillId })).instructions, 'Within 5 days.');
  });

  it('shows what was said and given also in a run that ended before its answer', async () => {
    const agent = await call('create_agent', {
      ...{ name: 'eve', displayName: 'Eve', tools: ['get_skill'], modelPreference: 'custom/tiny', maxSteps: 1 },
    });
    models.play(() => ({ text: 'I look.', calls: [{ name: 'get_skill', arguments: { id: skillId } }] }));
    const { runId: stopped } = await call('send_chat_message', { agentId: agent.id, message: 'Which rule?' });
    await visit({ path: `/runs/${stopped}` }, async (page) => {
      const rows = page.locator('.trace-span > summary');
      await rows.nth(1).waitFor();
      for (const at of [0, 1]) await rows.nth(at).click();
      await page.locator('.trace-span').getByText('I look.').waitFor();
      await page.getByLabel('Input of get_skill').getByText(skillId).waitFor();
      await page.getByLabel('Answer of get_skill').getByText('Refunds').waitFor();
    });
  });

  it('shows no text of another turn where its own are among the messages that are not read', async () => {
    models.play(() => ({ text: 'Later.' }));
    // Of the newest 100 messages of the thread the last two are those of the run.
    for (let turn = 0; turn < 49; turn += 1) await call('send_chat_message', { threadId, message: `Later ${turn}` });
    await visit({ path: `/runs/${runId}` }, async (page) => {
      const first = page.locator('.trace-span').first();
      await first.locator('summary').click();
      await first.getByText('10 tokens').waitFor();
      assert.equal(await first.getByText('Done.').count(), 0);
    });
  });
});
