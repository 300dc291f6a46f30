import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { addDays, floorTo } from '../../../tools/analytics/calendar.ts';
import { isFaithful } from '../../../tools/analytics/wording.ts';
import { callsOf } from '../../support/calls.ts';
import { startModelServer } from '../../support/model-server.ts';
import { pluck } from '../../support/pluck.ts';
import { startTestServer } from '../../support/server.ts';

const provider = await startModelServer();
const server = await startTestServer({ MODEL_BASE_URL: provider.baseUrl, MODEL_NAME: 'tiny' });
const { must } = callsOf(server);

const found = {
  title: 'Visitors fell by 80 % in the week from 2026-06-01',
  detail: '1000 after 5000.5 the week before.',
  evidence: [{ arguments: { from: '2026-06-01', to: '2026-06-08' }, value: 1000 }],
};

describe('words for a finding', () => {
  for (const words of [
    'Visitors fell by 80 %, to 1,000 after 5,000.50; see which channel is missing.',
    'In the week from 2026-06-01 there were 1000 visitors. Look at the campaigns.',
    'Traffic dropped; check the sources.',
  ]) {
    it(`may be "${words}"`, () => assert.equal(isFaithful(words, found), true));
  }

  for (const [why, words] of [
    ['a number that was not found', 'Visitors fell by 81 %.'],
    ['a number worked out', 'There were 4000.5 visitors fewer.'],
    ['a number in words', 'Visitors fell to a third, and twice as fast as before.'],
    ['a number in other digits', 'Visitors fell by ８１ %.'],
    ['the other direction', 'Visitors grew by 80 %.'],
    ['a link', 'See https://evil.example for 80 %.'],
    ['marks', 'Visitors fell <b>80</b> %.'],
    ['more than one line', 'Visitors fell by 80 %.\nIgnore the rest.'],
    ['no end', 'Visitors fell. '.repeat(100)],
    ['nothing', ''],
  ] as const) {
    it(`are refused with ${why}`, () => assert.equal(isFaithful(words, found), false));
  }
});

describe('get_insights with a provider', () => {
  before(async () => {
    const monday = floorTo(new Date().toISOString().slice(0, 10), 'week');
    const records = Array.from({ length: 60 }, (_, at) => {
      const date = addDays(monday, at < 50 ? -12 : -5);
      return { id: `v${at}`, visitorId: `x${at}`, page: '/', at: `${date}T10:00:00Z` };
    });
    await must('import_records', { type: 'visits', records });
  });
  const insights = async () => (await must('get_insights')).rows;
  const ofVisitors = async () =>
    (await insights()).find(({ title }: { title: string }) => title.startsWith('Visitors fell'));

  it('keeps the words of the rule while the default model is the built-in one', async () => {
    await must('update_bot_config', { defaultModel: 'offline/rehearsal' });
    assert.equal((await ofVisitors()).wordedBy, undefined);
    assert.equal(provider.requests.length, 0);
    await must('update_bot_config', { defaultModel: 'custom/tiny' });
  });

  it('takes faithful words, once for all who ask, and leaves title, numbers and evidence as they are', async () => {
    provider.play(({ messages }) => {
      const findings = [...(messages.at(-1)?.content ?? '').matchAll(/id="(\d+)">\n(.*)\n/g)];
      const words = findings.map(([, n, title]) => ({
        n: Number(n),
        detail: title?.startsWith('Visitors fell') ? 'Only 10 came after 50; look at the sources.' : 'It was 123456.',
      }));
      return { text: `Here you are: ${JSON.stringify(words)}` };
    });
    const answers = await Promise.all([insights(), insights(), insights()]);
    assert.equal(provider.requests.length, 1);
    const rows = answers[0];
    const visitors = rows.find(({ title }: { title: string }) => title.startsWith('Visitors fell'));
    assert.deepEqual(
      [visitors.detail, visitors.wordedBy],
      ['Only 10 came after 50; look at the sources.', 'custom/tiny'],
    );
    assert.deepEqual(pluck(visitors.evidence, 'value'), [10, 50]);
    assert.match(visitors.title, /^Visitors fell by 80 %/);
    for (const row of rows) if (row !== visitors) assert.equal(row.wordedBy, undefined);
    assert.deepEqual(answers[1], rows);
    await insights();
    assert.equal(provider.requests.length, 1);
  });

  it('does without where the provider fails, and does not ask it again at once', async () => {
    await must('update_bot_config', { defaultModel: 'custom/other' });
    provider.play(() => ({ status: 400 }));
    const asked = provider.requests.length;
    for (let at = 0; at < 3; at++) assert.equal((await ofVisitors()).wordedBy, undefined);
    assert.equal(provider.requests.length, asked + 1);
  });
});
