import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { UniqueTaken } from '../../store/errors.ts';
import type { Store } from '../../store/port.ts';
import { openPostgresStore } from '../../store/postgres/open.ts';
import { catalog } from '../../tools/catalog.ts';
import { createRegistry } from '../../tools/core/registry/registry.ts';
import { prepareSettings } from '../../tools/settings/defaults.ts';
import { closedAtEnd } from '../support/at-end.ts';
import { testDatabase, withoutPostgres } from '../support/postgres.ts';
import { principalOf, testFacts } from '../support/registry.ts';
import { type StatementsProxy, startStatementsProxy } from '../support/statements.ts';
import { writing } from '../support/writing.ts';
import { versionOf } from './records.ts';

const principal = principalOf({ type: 'session', id: 'usr_ann', scopes: ['*'] });

describe('calls on PostgreSQL', { skip: withoutPostgres }, () => {
  let proxy: StatementsProxy;
  let store: Store;
  let call: (tool: string, input: object) => Promise<Readonly<Record<string, unknown>>>;
  before(async () => {
    proxy = await startStatementsProxy((await testDatabase()).url);
    store = await openPostgresStore({ url: proxy.url });
    closedAtEnd(() => store.close());
    await prepareSettings(store);
    const server = testFacts(store, { catalog, now: () => new Date() });
    const registry = createRegistry({ store, server, onFailure: (cause) => console.error(cause) });
    call = async (tool, input) => {
      const answer = await registry.call({ principal, tool, input, door: 'mcp', requestId: 'test' });
      return answer.ok ? Object.fromEntries(Object.entries(answer.output)) : assert.fail(JSON.stringify(answer));
    };
  });

  /** The statements of the call that are about these tables. */
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
