import { BLACK_HOLE, type TcpProxy, type Treatment } from '../support/tcp-proxy.ts';
import { commitMoments } from './commit-cutter.ts';
import type { FaultedDatabase } from './database.ts';
import { between, type Fault, lasting, pick, type Random, type World } from './fault.ts';

/** The database of the world, whose faults are never chosen without one. */
export function databaseOf({ surroundings }: World): FaultedDatabase {
  if (!surroundings.database) throw new Error('This store has no database.');
  return surroundings.database;
}

/** As often of one process as of all: a cable, or a switch. */
function proxiesOf(world: World, random: Random): readonly TcpProxy[] {
  const proxies = databaseOf(world).proxies.slice(0, world.servers.length);
  return random() < 0.5 ? proxies : [pick(random, proxies)];
}

const SHARE_OF_COMMITS = 0.3;

function treated(name: string, treatment: (random: Random) => Treatment, more: Partial<Fault> = {}): Fault {
  return {
    name,
    part: 'network',
    stores: ['postgres'],
    lastsMs: (random) => lasting(random, 200, 4000),
    ...more,
    async apply(world, random) {
      const proxies = proxiesOf(world, random);
      for (const proxy of proxies) proxy.treat(treatment(random));
      return async () => {
        for (const proxy of proxies) proxy.pass();
      };
    },
  };
}

/** Faults of the wire between the processes and PostgreSQL. */
export const wireFaults: readonly Fault[] = [
  treated('slow wire to the database', (random) => ({ kind: 'delay', ms: () => between(random, 1, 150) })),
  treated('wire to the database stands still', () => ({ kind: 'hold' })),
  treated('black hole before the database', () => BLACK_HOLE),
  treated('half-open: the database hears, and is not heard', () => ({ kind: 'drop', directions: ['down'] })),
  treated('half-open: the database hears nothing', () => ({ kind: 'drop', directions: ['up'] })),
  treated('database refuses connections', () => ({ kind: 'refuse' })),
  treated('wire to the database is cut in the middle of answers', (random) => ({
    kind: 'cut',
    bytes: () => between(random, 1, 3000),
  })),
  {
    name: 'open connections to the database are forgotten',
    part: 'network',
    stores: ['postgres'],
    async apply(world, random) {
      const proxies = proxiesOf(world, random);
      for (const proxy of proxies) proxy.treatOpen(BLACK_HOLE);
      return async () => {
        for (const proxy of proxies) proxy.pass();
      };
    },
  },
  {
    name: 'connections to the database are reset',
    part: 'network',
    stores: ['postgres'],
    async apply(world, random) {
      for (const proxy of proxiesOf(world, random)) proxy.resetAll();
      return async () => {};
    },
  },
  ...commitMoments.map(
    (moment): Fault => ({
      name: `COMMIT is cut: ${moment}`,
      part: 'network',
      stores: ['postgres'],
      weight: 2,
      lastsMs: (random) => lasting(random, 500, 3000),
      async apply(world, random) {
        const { cutter, proxies } = databaseOf(world);
        cutter.begin(() => (random() < SHARE_OF_COMMITS ? moment : undefined));
        return async () => {
          cutter.end();
          for (const proxy of proxies) proxy.pass();
        };
      },
    }),
  ),
];
