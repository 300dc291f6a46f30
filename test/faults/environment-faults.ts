import { readdirSync } from 'node:fs';
import { BLACK_HOLE, type Treatment } from '../support/tcp-proxy.ts';
import { between, type Fault, lasting, pick, type Random, type World } from './fault.ts';
import { type Limit, limit, withoutLimits } from './limits.ts';
import { type FarEndName, farEndNames } from './surroundings.ts';

const HOUR_MS = 3_600_000;

const runningOf = (world: World, random: Random) =>
  pick(
    random,
    world.servers.filter(({ pid }) => pid !== undefined),
  );

function farEnd(name: FarEndName, what: string, treatment: (random: Random) => Treatment): Fault {
  return {
    name: `${name} ${what}`,
    part: 'far ends',
    weight: 0.5,
    lastsMs: (random) => lasting(random, 500, 4000),
    async apply({ surroundings }, random) {
      const { proxy } = surroundings.wireTo(name);
      proxy.treat(treatment(random));
      return async () => proxy.pass();
    },
  };
}

function farEndFaults(name: FarEndName): readonly Fault[] {
  return [
    farEnd(name, 'is away', () => ({ kind: 'refuse' })),
    farEnd(name, 'is slow', (random) => ({ kind: 'delay', ms: () => between(random, 50, 1500) })),
    farEnd(name, 'is silent', () => BLACK_HOLE),
    farEnd(name, 'is half-open', () => ({ kind: 'drop', directions: ['down'] })),
    farEnd(name, 'is cut in the middle of answers', (random) => ({
      kind: 'cut',
      bytes: () => between(random, 1, 2000),
    })),
    {
      name: `${name} answers with an error`,
      part: 'far ends',
      weight: 0.5,
      lastsMs: (random) => lasting(random, 500, 4000),
      async apply({ surroundings }, random) {
        const { failures } = surroundings.wireTo(name);
        failures.status = pick(random, [500, 502, 503, 429]);
        return async () => {
          failures.status = undefined;
        };
      },
    },
  ];
}

function clockFault(what: string, aheadMs: (random: Random) => number): Fault {
  return {
    name: `clock of a process goes ${what}`,
    part: 'clock',
    lastsMs: (random) => lasting(random, 200, 3000),
    async apply({ servers, surroundings }, random) {
      const controls = pick(random, surroundings.controls.slice(0, servers.length));
      controls.set({ aheadMs: aheadMs(random) });
      return async () => controls.set({ aheadMs: 0 });
    },
  };
}

/** Faults of what processes stand on, and of those that they ask. */
export const environmentFaults: readonly Fault[] = [
  clockFault('ahead', (random) => between(random, 2000, 2 * HOUR_MS)),
  clockFault('back', (random) => -between(random, 2000, 2 * HOUR_MS)),
  {
    name: 'names of hosts are not found',
    part: 'network',
    lastsMs: (random) => lasting(random, 500, 4000),
    async apply({ surroundings: { controls } }) {
      for (const each of controls) each.set({ namesAreGone: true });
      return async () => {
        for (const each of controls) each.set({ namesAreGone: false });
      };
    },
  },
  {
    name: 'disk is full',
    part: 'disk',
    stores: ['lowdb'],
    weight: 2,
    lastsMs: (random) => lasting(random, 200, 3000),
    async apply({ surroundings: { disk } }) {
      disk?.fill();
      return async () => disk?.free();
    },
  },
  ...(withoutLimits ? [] : limitFaults()),
  ...farEndNames.flatMap(farEndFaults),
];

function limitFaults(): readonly Fault[] {
  return [
    {
      name: 'files of a process may not grow',
      part: 'disk',
      stores: ['lowdb'],
      lastsMs: (random) => lasting(random, 200, 3000),
      apply: (world, random) => limited(world, random, 'fsize', () => between(random, 0, 3) * 4096),
    },
    {
      name: 'file descriptors are used up',
      part: 'disk',
      lastsMs: (random) => lasting(random, 200, 3000),
      apply: (world, random) => limited(world, random, 'nofile', filesOf),
    },
  ];
}

/** As many files as the process has open now. Those that it closes it can open again, as where a system has no more. */
const filesOf = (pid: number) => Math.max(...readdirSync(`/proc/${pid}/fd`).map(Number)) + 1;

async function limited(world: World, random: Random, name: Limit, valueFor: (pid: number) => number) {
  const server = runningOf(world, random);
  const pid = server.pid ?? 0;
  const lift = limit(pid, name, valueFor(pid));
  // A process that was started since has no such limit.
  return async () => {
    if (server.pid === pid) lift();
  };
}
