import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Store } from '../../store/port.ts';
import { openPostgresStore } from '../../store/postgres/open.ts';
import { type HourOfUsage, usageIn } from '../../tools/usage/figures.ts';
import { closedAtEnd } from '../support/at-end.ts';
import { testDatabase, withoutPostgres } from '../support/postgres.ts';
import { fc } from '../support/property.ts';
import { principalOf } from '../support/registry.ts';
import { startStatementsProxy } from '../support/statements.ts';
import { enter, figuresOf, HOUR_MS, happened, START, tally } from '../tools/usage-events.ts';

const _admin = principalOf({ type: 'session', id: 'usr_ann', scopes: ['*'] });

const assertFew = (statements: readonly string[]) => {
  const about = statements.filter((text) => /audit_entries|agent_runs|usage_hours/.test(text));
  assert.ok(about.length <= 7, about.join('\n\n'));
};

const withoutTally = ({ audit }: Store) => ({
  find: audit.find.bind(audit),
  count: audit.count.bind(audit),
});

async function all(hours: AsyncIterable<HourOfUsage>): Promise<HourOfUsage[]> {
  const found: HourOfUsage[] = [];
  for await (const hour of hours) found.push(hour);
  return found;
}

const sumOf = (tallied: Record<string, number>, having = '') =>
  Object.entries(tallied).reduce((sum, [key, each]) => sum + (key.includes(having) ? each : 0), 0);

describe('usage on PostgreSQL', { skip: withoutPostgres }, () => {
  it('takes the same few statements, however many entries and hours there are', async () => {
    const proxy = await startStatementsProxy((await testDatabase()).url);
    const store = await openPostgresStore({ url: proxy.url, poolSize: 2 });
    closedAtEnd(() => store.close());
    const many = fc.sample(happened, { numRuns: 2500, seed: 8 });
    const spread = many.map((event, at) => ({ ...event, at: START + at * 0.4 * HOUR_MS, model: undefined }));
    await enter(store, spread);
    const figures = figuresOf(store);
    const span = { from: START, to: START + 1000 * HOUR_MS };
    const periods = [0, 250, 600].map((hour, at, all) => {
      return { from: START + hour * HOUR_MS, to: START + (all[at + 1] ?? 1000) * HOUR_MS };
    });
    const plain = await tally(usageIn({ ...figures, audit: withoutTally(store) }, span));
    for (const most of [0, 20_000]) {
      const asked = await proxy.during(() => tally(usageIn(figures, span, {}, most)));
      assert.deepEqual(asked.result, plain);
      assertFew(asked.texts);
      const question = { labels: ['tool', 'agent'], where: { agent: 'agt_one' }, periods } as const;
      const short = await proxy.during(() => all(usageIn(figures, span, question, most)));
      assertFew(short.texts);
      // Where there are many, durations of each row in each period would be about as many as the calls.
      assert.deepEqual(
        [...new Set(short.result.map(({ of }) => of))].sort(),
        most === 0 ? ['periods', 'rows'] : [undefined],
      );
      for (const other of ['rows', 'periods']) {
        const counted = short.result.filter(({ of }) => of !== other);
        assert.equal(sumOf(await tally(counted)), sumOf(plain, '"agent","agt_one"'));
      }
    }
  });
});
