import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { Jobs } from '../../store/jobs-port.ts';
import { OwnJobs } from '../../store/lowdb/jobs.ts';
import { Membership } from '../../store/postgres/cluster/membership.ts';
import { Database } from '../../store/postgres/database.ts';
import { PostgresJobs } from '../../store/postgres/jobs.ts';
import { closedAtEnd } from '../support/at-end.ts';
import { deferred } from '../support/deferred.ts';
import { rounds } from '../support/full.ts';
import { databaseAt, testDatabase, withoutPostgres } from '../support/postgres.ts';
import { until } from '../support/until.ts';

const MANY = rounds(100, 2000);
const failures: unknown[] = [];
const onFailure = (cause: unknown) => void failures.push(cause);

describe('jobs of a process that has its store for itself', () => {
  behaves(async () => {
    const jobs = new OwnJobs();
    return { jobs, close: async () => jobs.close() };
  });

  it('are led by it, and no other one is alive', async () => {
    const jobs = new OwnJobs();
    assert.deepEqual([jobs.isLeader, jobs.worker, await jobs.isAlive()], [true, undefined, false]);
  });
});

describe('jobs of processes on one database', { skip: withoutPostgres }, () => {
  behaves(async () => {
    const { process } = await openDatabase();
    return process('one');
  });

  it(`are each done once, whoever adds them: ${MANY} of three processes`, async () => {
    const { process } = await openDatabase();
    const all = await Promise.all(['one', 'two', 'three'].map(process));
    const done: number[] = [];
    for (const { jobs } of all) jobs.serve({ counts: async ({ number }) => void done.push(Number(number)) }, onFailure);
    const numbers = Array.from({ length: MANY }, (_, number) => number);
    await Promise.all(numbers.map((number) => all[number % 3]?.jobs.add('counts', { number })));
    await until(() => done.length >= MANY);
    await Promise.all(all.map(({ close }) => close()));
    assert.deepEqual(
      done.sort((one, other) => one - other),
      numbers,
    );
  });

  it('come free when their process is gone, which another one leads then', async () => {
    const { database, process } = await openDatabase();
    const one = await process('one');
    let begun = 0;
    const { promise: held, resolve: end } = deferred();
    const hangs = () => {
      begun += 1;
      return held;
    };
    one.jobs.serve({ works: hangs }, onFailure);
    const ids = [1, 2, 3, 4];
    for (const id of ids) await one.jobs.add('works', { id });
    await until(() => begun === ids.length); // its workers take no further job
    const two = await process('two');
    assert.deepEqual([one.jobs.isLeader, two.jobs.isLeader, await two.jobs.isAlive('one')], [true, false, true]);
    const done: unknown[] = [];
    two.jobs.serve({ works: async ({ id }) => void done.push(id) }, onFailure);
    one.die();
    await database.query({
      text: `update cluster_processes set seen_at = now() - interval '11 seconds' where id = 'one'`,
    });
    await until(() => done.length === ids.length);
    assert.deepEqual([done.sort(), two.jobs.isLeader, await two.jobs.isAlive('one')], [ids, true, false]);
    end();
    await Promise.all([one.close(), two.close()]);
  });

  it('are all done when the connections are ended again and again', async () => {
    const { database, process } = await openDatabase();
    const all = await Promise.all(['one', 'two'].map(process));
    const done = new Set<number>();
    for (const { jobs } of all) jobs.serve({ counts: async ({ number }) => void done.add(Number(number)) }, () => {});
    const add = async (number: number): Promise<void> =>
      all[number % 2]?.jobs.add('counts', { number }, { key: String(number) }).catch(() => add(number));
    for (let number = 0; number < MANY; number += 1) {
      if (number % 20 === 0) await database.query({ text: END_OTHERS }).catch(() => {});
      await add(number);
    }
    await until(() => done.size === MANY);
    const left = async () => database.query({ text: 'select from graphile_worker.jobs' }).catch(() => [{}]);
    await until(async () => (await left()).length === 0);
    await Promise.all(all.map(({ close }) => close()));
  });
});

const END_OTHERS = `select pg_terminate_backend(pid) from pg_stat_activity
  where pid <> pg_backend_pid() and datname = current_database()`;

interface Opened {
  readonly jobs: Jobs;
  close(): Promise<void>;
}

async function openDatabase() {
  const { url } = await testDatabase();
  const database = databaseAt(url);
  const process = async (name: string) => {
    const own = new Database({ url });
    const parts = { process: name, database: own, onFailure: () => {} };
    const membership = new Membership({ ...parts, clockAheadMs: () => undefined });
    await membership.enter();
    const jobs = new PostgresJobs(parts);
    await jobs.start();
    const close = closedAtEnd(async () => {
      await jobs.close();
      await membership.leave();
      await own.close();
    });
    return { jobs, close, die: () => void own.close() };
  };
  return { database, process };
}

function behaves(open: () => Promise<Opened>): void {
  it('are done, the latest where several wait under a key', async () => {
    const { jobs, close } = await open();
    const done: unknown[] = [];
    const leave = jobs.serve({ notes: async ({ text }) => void done.push(text) }, onFailure);
    await jobs.add('notes', { text: 'later' }, { key: 'a', afterMs: 3_600_000 });
    await jobs.add('notes', { text: 'other' }, { key: 'b', afterMs: 1 });
    await jobs.add('notes', { text: 'now' }, { key: 'a' });
    await until(() => done.length === 2);
    assert.deepEqual([...done].sort(), ['now', 'other']);
    await leave();
    await close();
  });

  it('are done again after they failed, and each failure is told', async () => {
    const { jobs, close } = await open();
    let tries = 0;
    failures.length = 0;
    const fails = async () => {
      tries += 1;
      if (tries < 2) throw new Error('not yet');
    };
    jobs.serve({ fails }, onFailure);
    await jobs.add('fails', {});
    await until(() => tries === 2);
    assert.deepEqual(failures.map(String), ['Error: not yet']);
    await close();
  });

  it('end before the one who serves them has left', async () => {
    const { jobs, close } = await open();
    const { promise: held, resolve: end } = deferred();
    let isUnderWay = false;
    let ended = false;
    const work = async () => {
      isUnderWay = true;
      await held;
      ended = true;
    };
    const leave = jobs.serve({ work }, onFailure);
    await jobs.add('work', {});
    await until(() => isUnderWay);
    const left = leave().then(() => ended);
    await setImmediate(); // who does not wait has left by now
    end();
    assert.equal(await left, true);
    await close();
  });
}
