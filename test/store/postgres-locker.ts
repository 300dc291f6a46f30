import { Database } from '../../store/postgres/database.ts';

/** Holds a lock in a statement that lasts far longer than a test, until it is killed. Run by the test of the database as a process of its own. */
await new Database({ url: process.argv[2] ?? '', statementTimeoutMs: 0 }).use(async (session) => {
  await session.query({ text: 'begin; lock table write_gate in exclusive mode' });
  process.stdout.write('locked\n');
  await session.query({ text: 'select pg_sleep(3600)' });
});
