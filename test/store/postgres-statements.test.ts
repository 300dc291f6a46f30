import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { openPostgresStore } from '../../store/postgres/open.ts';
import { catalog } from '../../tools/catalog.ts';
import { createRegistry } from '../../tools/registry/registry.ts';
import { prepareSettings } from '../../tools/settings/defaults.ts';
import { closedAtEnd } from '../support/at-end.ts';
import { testDatabase, withoutPostgres } from '../support/postgres.ts';
import { principalOf, testFacts } from '../support/registry.ts';
import { type StatementsProxy, startStatementsProxy } from '../support/statements.ts';

const principal = principalOf({ type: 'session', id: 'usr_ann', scopes: ['*'] });

describe('calls on PostgreSQL', { skip: withoutPostgres }, () => {
  let proxy: StatementsProxy;
  let call: (tool: string, input: object) => Promise<Readonly<Record<string, unknown>>>;
  before(async () => {
    proxy = await startStatementsProxy((await testDatabase()).url);
    const store = await openPostgresStore({ url: proxy.url });
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
      assert.equal(asked.length, 5, asked.join('\n\n'));
    }
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
