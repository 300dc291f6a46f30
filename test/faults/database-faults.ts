import { between, type Fault, lasting, pick } from './fault.ts';
import { databaseOf } from './wire-faults.ts';

const nothingLeft = async () => {};

/** Faults of PostgreSQL itself. */
export const databaseFaults: readonly Fault[] = [
  ...(['fast', 'immediate'] as const).map(
    (how): Fault => ({
      name: `database restarts, ${how}`,
      part: 'database',
      stores: ['postgres'],
      async apply(world) {
        await databaseOf(world).restart(how);
        return nothingLeft;
      },
    }),
  ),
  {
    name: 'sessions of the database are ended',
    part: 'database',
    stores: ['postgres'],
    async apply(world) {
      await databaseOf(world).endSessions();
      return nothingLeft;
    },
  },
  {
    name: 'transactions are ended in their midst',
    part: 'database',
    stores: ['postgres'],
    async apply(world, random) {
      await databaseOf(world).endTransactions(between(random, 1, 20), 3000);
      return nothingLeft;
    },
  },
  {
    name: 'database is read-only',
    part: 'database',
    stores: ['postgres'],
    lastsMs: (random) => lasting(random, 200, 3000),
    async apply(world) {
      const database = databaseOf(world);
      await database.setReadOnly(true);
      return () => database.setReadOnly(false);
    },
  },
  {
    name: 'database has no connection left',
    part: 'database',
    stores: ['postgres'],
    lastsMs: (random) => lasting(random, 500, 4000),
    async apply(world, random) {
      const database = databaseOf(world);
      if (random() < 0.5) await database.endSessions();
      const { free } = await database.takeConnections();
      return free;
    },
  },
  {
    name: 'a lock is held by another session',
    part: 'database',
    stores: ['postgres'],
    lastsMs: (random) => lasting(random, 500, 5000),
    apply: (world, random) =>
      databaseOf(world).lock(pick(random, ['write_gate', 'skills', 'audit_entries', 'cluster_changes'])),
  },
  {
    name: 'disk of the database is full',
    part: 'database',
    stores: ['postgres'],
    lastsMs: (random) => lasting(random, 1000, 4000),
    async apply(world) {
      const { disk } = databaseOf(world);
      if (!disk) return nothingLeft;
      disk.fill();
      return async () => disk.free();
    },
  },
  {
    name: 'database fails over to its standby',
    part: 'database',
    stores: ['postgres'],
    async apply(world) {
      await databaseOf(world).failOver();
      return nothingLeft;
    },
  },
];
