import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Store } from '../../store/port.ts';
import { openPostgresStore } from '../../store/postgres/open.ts';
import { catalog } from '../../tools/catalog.ts';
import { createRegistry } from '../../tools/core/registry/registry.ts';
import { prepareSettings } from '../../tools/settings/defaults.ts';
import { type HourOfUsage, usageIn } from '../../tools/usage/figures.ts';
import { closedAtEnd } from '../support/at-end.ts';
import { databaseAt, testDatabase, withoutPostgres } from '../support/postgres.ts';
import { fc } from '../support/property.ts';
import { principalOf, testFacts } from '../support/registry.ts';
import { startStatementsProxy } from '../support/statements.ts';
import { enter, entryOf, figuresOf, HOUR_MS, happened, START, tally } from '../tools/usage-events.ts';

const admin = principalOf({ type: 'session', id: 'usr_ann', scopes: ['*'] });

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
    await store.audit.flush();
    const database = databaseAt(proxy.url);
    // As a version without these columns left them.
    await database.query({
      text: 'update audit_entries set duration_ms = null, agent_id = null, flow_id = null where at < $1',
      values: [new Date(START + 500 * HOUR_MS).toISOString()],
    });
    assert.deepEqual(await tally(usageIn(figures, span, {}, 0)), plain);
  });

  it('counts calls of processes of the version before, which know no columns for them', async () => {
    const { url } = await testDatabase();
    const store = await openPostgresStore({ url });
    closedAtEnd(() => store.close());
    const database = databaseAt(url);
    await prepareSettings(store);
    const days = [0, 10].map((day) => START + day * 24 * HOUR_MS);
    const events = fc.sample(happened, { numRuns: 60, seed: 9 }).map((event) => ({ ...event, model: undefined }));
    const [own, before] = days.map((begin) => events.map((event) => ({ ...event, at: event.at - START + begin })));
    await enter(store, own ?? []);
    for (const entry of (before ?? []).map(entryOf)) {
      const { at, id, principal, tool, outcome, door, requestId } = entry;
      await database.query({
        text: `insert into audit_entries (at, id, principal_id, tool, outcome, door, request_id, session_id, record_ids, entry)
          values ($1, $2, $3, $4, $5, $6, $7, null, '{}', $8)`,
        values: [at, id, principal.id, tool, outcome, door, requestId, JSON.stringify(entry)],
      });
    }
    const unfilled = await database.query({ text: 'select 1 from audit_entries where duration_ms is null' });
    assert.equal(unfilled.length, 0, 'the database fills the columns');
    const server = testFacts(store, { catalog, now: () => new Date(START + 20 * 24 * HOUR_MS) });
    const registry = createRegistry({ store, server, onFailure: (cause) => console.error(cause) });
    for (const by of ['agent', 'key', 'capsule', 'app', 'user', 'flow', 'tool']) {
      const [one, other] = await Promise.all(
        days.map(async (begin) => {
          const [from, to] = [begin, begin + 48 * HOUR_MS].map((ms) => new Date(ms).toISOString());
          const input = { by, from, to };
          const answer = await registry.call({
            principal: admin,
            tool: 'get_usage',
            input,
            door: 'mcp',
            requestId: 'test',
          });
          assert.ok(answer.ok, JSON.stringify(answer));
          const { rows, totals } = Object.fromEntries(Object.entries(answer.output));
          return { rows, totals };
        }),
      );
      assert.deepEqual(other, one, by);
      assert.ok(Array.isArray(one?.rows) && one.rows.length > 0, by);
    }
  });
});
