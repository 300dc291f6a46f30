import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { Store } from '../../store/port.ts';
import { Database } from '../../store/postgres/database.ts';
import { openPostgresStore } from '../../store/postgres/open.ts';
import { closedAtEnd } from '../support/at-end.ts';
import { testDatabase, withoutPostgres } from '../support/postgres.ts';

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
    store = await openPostgresStore({ url });
    closedAtEnd(() => store.close());
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
