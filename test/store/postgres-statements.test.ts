import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { UniqueTaken } from '../../store/errors.ts';
import type { Store } from '../../store/port.ts';
import { Database } from '../../store/postgres/database.ts';
import { catalog } from '../../tools/catalog.ts';
import { createRegistry } from '../../tools/core/registry/registry.ts';
import { prepareSettings } from '../../tools/settings/defaults.ts';
import { type HourOfUsage, usageIn } from '../../tools/usage/figures.ts';
import { storeAt, testDatabase, withoutPostgres } from '../support/postgres.ts';
import { fc } from '../support/property.ts';
import { principalOf, testFacts } from '../support/registry.ts';
import { type StatementsProxy, startStatementsProxy } from '../support/statements.ts';
import { writing } from '../support/writing.ts';
import { enter, figuresOf, HOUR_MS, happened, START, tally } from '../tools/usage-events.ts';
import { versionOf } from './records.ts';

const principal = principalOf({ type: 'session', id: 'usr_ann', scopes: ['*'] });

describe('calls on PostgreSQL', { skip: withoutPostgres }, () => {
  let proxy: StatementsProxy;
  let store: Store;
  let call: (tool: string, input: object) => Promise<Readonly<Record<string, unknown>>>;
  before(async () => {
    proxy = await startStatementsProxy((await testDatabase()).url);
    store = await storeAt(proxy.url);
    await prepareSettings(store);
    const server = testFacts(store, { catalog, now: () => new Date() });
    const registry = createRegistry({ store, server, onFailure: (cause) => console.error(cause) });
    call = async (tool, input) => {
      const answer = await registry.call({ principal, tool, input, door: 'mcp', requestId: 'test' });
      return answer.ok ? Object.fromEntries(Object.entries(answer.output)) : assert.fail(JSON.stringify(answer));
    };
  });

  async function statements(tables: RegExp, tool: string, input: object): Promise<readonly string[]> {
    const { texts } = await proxy.during(() => call(tool, input));
    return texts.filter((text) => tables.test(text));
  }

  it('write with one statement for what goes along with the records, new words or not', async () => {
    const { id } = await call('create_skill', { name: 'counted', description: 'alpha', instructions: 'beta' });
    const tables = /"skills"|"versions"|audit_entries|text_words|cluster_changes/;
    for (const instructions of ['gamma', 'beta']) {
      const asked = await statements(tables, 'update_skill', { id, instructions });
      assert.equal(asked.length, 4, asked.join('\n\n'));
    }
  });

  it('say which version is in the way of one that waits for the last statement, and find those that wait', async () => {
    const insert = (...revisions: number[]) =>
      store.transaction(async (tx) => {
        for (const revision of revisions) await tx.versions.insert(versionOf('agt_late', revision));
        return (await tx.versions.find({ where: { entityType: 'agent', entityId: 'agt_late' }, limit: 10 })).records;
      });
    assert.deepEqual((await insert(1, 2)).map(({ revision }) => revision).sort(), [1, 2]);
    const again = writing(store).versions.insert(versionOf('agt_late', 2));
    await assert.rejects(again, (error) => error instanceof UniqueTaken && error.fields.includes('revision'));
    await writing(store).versions.insert(versionOf('agt_late', 3));
    assert.equal(await store.versions.count({ where: { entityType: 'agent', entityId: 'agt_late' } }), 3);
  });

  it('search all kinds of records with three statements, with one more where words are spelled wrongly', async () => {
    await call('create_skill', { name: 'sought', description: 'delicious', instructions: 'epsilon' });
    const search = async (q: string) => {
      const asked = await statements(/words/, 'search', { q });
      const { data } = await call('search', { q });
      assert.ok(Array.isArray(data) && data.some(({ title }) => title === 'sought'), q);
      return asked.length;
    };
    assert.ok((await search('sought')) <= 3);
    assert.ok((await search('epsylon delicius')) <= 4);
    assert.ok((await statements(/words/, 'search', { q: 'epsilon', types: ['skill'] })).length <= 2);
  });
});

/** More than 10,000 records have the word `alpha`, as many others `beta`; the oldest has both, the next one a rare word too. */
const FILL = `insert into memories (id, created_at, record, words, words_length)
  select id, at, json_build_object('id', id, 'content', content, 'createdAt', at), to_tsvector('simple', content), 2
  from (
    select
      'mem_' || lpad(n::text, 6, '0') as id,
      to_char(timestamp '2026-01-01' + n * interval '1 second', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as at,
      case when n = 0 then 'alpha beta' when n = 1 then 'alpha gamma' when n % 2 = 0 then 'alpha word' else 'beta word' end as content
    from generate_series(0, 20100) as n
  ) as made; analyze memories`;

describe('search for words of very many records in PostgreSQL', { skip: withoutPostgres }, () => {
  let store: Store;
  before(async () => {
    const { url } = await testDatabase();
    const database = new Database({ url });
    await database.query({ text: FILL });
    await database.close();
    store = await storeAt(url);
  });
  const find = async (text: string) => {
    const { hits, count } = await store.search('memories', { text, limit: 3 });
    return { count, ids: hits.map(({ record }) => record.id) };
  };

  it('ranks the newest 10,000 of them', async () => {
    const { count, ids } = await find('alpha');
    assert.deepEqual({ count, ids }, { count: 10_000, ids: ['mem_020100', 'mem_020098', 'mem_020096'] });
  });

  it('ranks every record with a rare word, and leaves out those that have the common one alone', async () => {
    assert.deepEqual(await find('alpha gamma'), { count: 1, ids: ['mem_000001'] });
  });

  it('finds a record with all words, however old', async () => {
    const { ids } = await find('alpha beta');
    assert.equal(ids[0], 'mem_000000');
  });
});

const _admin = principalOf({ type: 'session', id: 'usr_ann', scopes: ['*'] });

const assertFew = (statements: readonly string[]) => {
  const about = statements.filter((text) => /audit_entries|agent_runs|usage_hours/.test(text));
  // One of them for the hours of embedding models.
  assert.ok(about.length <= 8, about.join('\n\n'));
};

const withoutTally = ({ audit }: Store) => ({ find: audit.find.bind(audit), count: audit.count.bind(audit) });

async function all(hours: AsyncIterable<HourOfUsage>): Promise<HourOfUsage[]> {
  const found: HourOfUsage[] = [];
  for await (const hour of hours) found.push(hour);
  return found;
}

const sumOf = (tallied: Record<string, number>, having = '') =>
  Object.entries(tallied).reduce((sum, [key, each]) => sum + (key.includes(having) ? each : 0), 0);

it('usage on PostgreSQL takes the same few statements, however many entries and hours there are', {
  skip: withoutPostgres,
}, async () => {
  const proxy = await startStatementsProxy((await testDatabase()).url);
  const store = await storeAt(proxy.url, { poolSize: 2 });
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
