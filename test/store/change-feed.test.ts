import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import type { RecordChange, Store } from '../../store/port.ts';
import { pruneChanges } from '../../store/postgres/changes/changes.ts';
import { ChangeFeed } from '../../store/postgres/changes/feed.ts';
import { openPostgresStore } from '../../store/postgres/open.ts';
import { closedAtEnd } from '../support/at-end.ts';
import { databaseAt, storeAt, type TestDatabase, testDatabase, withoutPostgres } from '../support/postgres.ts';
import { until } from '../support/until.ts';
import { writing } from '../support/writing.ts';
import { agentRecord } from './records.ts';

describe('the feed of changes', { skip: withoutPostgres }, () => {
  let own: TestDatabase;
  before(async () => {
    own = await testDatabase();
  });
  after(() => own.drop());

  interface Watched {
    readonly feed: ChangeFeed;
    gaps: number;
    servers: number;
    answers: number;
    nowMs: number;
  }

  /** A feed whose clock the test moves. `connect` gives it each of its connections. */
  function watch(connect: () => pg.Client, wanted: (watched: Watched) => void = () => {}): Watched {
    const watched = { gaps: 0, servers: 0, answers: 0, nowMs: 0 } as {
      -readonly [Name in keyof Watched]: Watched[Name];
    };
    watched.feed = new ChangeFeed({
      connect,
      now: () => watched.nowMs,
      wanted: () => {
        wanted(watched);
        return undefined;
      },
      onCommits: () => {},
      onGap: () => {
        watched.gaps += 1;
      },
      onOtherServer: () => {
        watched.servers += 1;
      },
      onNotification: () => {},
      channels: [],
      onLost: () => {},
      onReadOnly: () => {
        watched.answers += 1;
      },
      wallClock: () => Date.now(),
    });
    closedAtEnd(() => watched.feed.close());
    return watched;
  }

  const client = (options?: string) => new pg.Client({ connectionString: own.url, ...(options && { options }) });

  it('counts what it knows as fresh from the question on, not from the answer', async () => {
    const ANSWER_TAKES_MS = 1000;
    const watched = watch(client, (each) => {
      each.nowMs += ANSWER_TAKES_MS; // `wanted` is asked for right after the moment of the question was noted
    });
    await watched.feed.start();
    assert.equal(watched.feed.isFresh, false, 'a change of the last second may be missing in it');
    for (const begin of [0, 50_000]) {
      const quick = watch(client);
      quick.nowMs = begin;
      await quick.feed.start();
      quick.nowMs = begin + 999;
      assert.equal(quick.feed.isFresh, true, `a clock that began at ${begin}`);
      await quick.feed.close();
      quick.nowMs = begin + 1000;
      assert.equal(quick.feed.isFresh, false);
    }
  });

  it('says that changes may be missing where the database is one of an earlier time, as after a restored backup', async () => {
    const admin = client();
    await admin.connect();
    await admin.query(
      `create schema earlier;
       create function earlier.pg_current_snapshot() returns pg_snapshot language sql as $$ select '3:3:'::pg_snapshot $$`,
    );
    await admin.end();
    const made: pg.Client[] = [];
    const watched = watch(() => {
      const next = client(made.length === 0 ? undefined : '-c search_path=earlier,pg_catalog,public');
      made.push(next);
      return next;
    });
    await watched.feed.start();
    const answers = watched.answers;
    await until(() => watched.answers > answers);
    assert.equal(watched.gaps, 0);
    watched.feed.reconnect();
    await until(() => made.length > 1 && watched.gaps > 0);
  });

  it('says that another server answers, as after a failover', async () => {
    const admin = client();
    await admin.connect();
    await admin.query(
      `create schema elsewhere;
       create function elsewhere.pg_postmaster_start_time() returns timestamptz language sql as $$ select '2001-01-01'::timestamptz $$`,
    );
    await admin.end();
    let isElsewhere = false;
    const watched = watch(() => client(isElsewhere ? '-c search_path=elsewhere,pg_catalog,public' : undefined));
    await watched.feed.start();
    watched.feed.reconnect();
    const { answers } = watched;
    await until(() => watched.answers > answers + 1);
    assert.equal(watched.servers, 0);
    isElsewhere = true;
    watched.feed.reconnect();
    await until(() => watched.servers === 1);
    assert.equal(watched.gaps, 0);
  });
});

it('what processes told one another goes after some minutes, however much it was, and nothing newer', {
  skip: withoutPostgres,
}, async () => {
  const { url } = await testDatabase();
  const store = await storeAt(url);
  const database = databaseAt(url);
  const columns = await database.query<{ name: string }>({
    text: `select column_name as name from information_schema.columns where table_name = 'cluster_changes' and column_name not in ('id', 'at')`,
  });
  const others = columns.map(({ name }) => `"${name}"`).join(', ');
  await writing(store).agents.insert(agentRecord('told'));
  await database.query({
    text: `insert into cluster_changes (at, ${others})
      select clock_timestamp() - n * interval '1 millisecond' - interval '3 minutes', ${others}
      from (select * from cluster_changes limit 1) as one, generate_series(1, 20500) as n`,
  });
  await pruneChanges(database);
  const [left] = await database.query<{ count: string }>({ text: 'select count(*) from cluster_changes' });
  assert.equal(Number(left?.count), 1);
});

it('a deletion that comes with the change before it is told once, as a deletion, with the record as it was', {
  skip: withoutPostgres,
}, async () => {
  const { url } = await testDatabase();
  const stores = await Promise.all([openPostgresStore({ url }), openPostgresStore({ url })]);
  closedAtEnd(() => Promise.all(stores.map((store) => store.close())));
  const [one, other] = stores as [Store, Store];
  const heard: RecordChange[] = [];
  other.onCommit(({ changes }) => void heard.push(...changes), ['agents']);
  const { id } = await writing(one).agents.insert(agentRecord('ada'));
  const marker = await writing(one).agents.insert(agentRecord('marker'));
  await until(() => heard.some(({ record }) => record.id === marker.id));
  heard.length = 0;
  await one.transaction(async (tx) => {
    await tx.agents.update(id, { displayName: 'Ada L.' });
  });
  await writing(one).agents.delete(id);
  await writing(one).agents.update(marker.id, { displayName: 'M' });
  await until(() => heard.some(({ record }) => record.id === marker.id));
  const own = heard.filter(({ record }) => record.id === id);
  assert.deepEqual(own.map(({ kind, record }) => [kind, record.displayName]).at(-1), ['deleted', 'Ada L.']);
  assert.equal(own.filter(({ kind }) => kind === 'deleted').length, 1);
});
