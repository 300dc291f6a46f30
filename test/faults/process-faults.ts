import { setTimeout as delay } from 'node:timers/promises';
import { between, type Fault, lasting, pick, type Random, type World } from './fault.ts';

/** A process may start and stop within this time, or be in the midst of it. */
const START_MS = 2500;
const LONGEST_STOP_MS = 30_000;

/** Of the processes that run, or of all where none does: whatever befalls them then does nothing. */
function runningOf({ servers }: World, random: Random) {
  const running = servers.filter(({ pid, isPaused }) => pid !== undefined && !isPaused);
  return pick(random, running.length > 0 ? running : servers);
}

/** Faults of processes themselves: whoever runs them ends, kills, holds and starts them. */
export const processFaults: readonly Fault[] = [
  {
    name: 'one more process',
    part: 'process',
    isStart: true,
    lastsMs: (random) => lasting(random, 0, START_MS),
    async apply({ spare }) {
      await spare.start(); // on the embedded store it waits for the folder
      return async () => {
        await spare.end('SIGTERM');
      };
    },
  },
  {
    name: 'SIGTERM',
    part: 'process',
    async apply(world, random) {
      const server = runningOf(world, random);
      await server.end('SIGTERM');
      return () => server.start();
    },
  },
  {
    name: 'kill -9',
    part: 'process',
    weight: 2,
    async apply(world, random) {
      const server = runningOf(world, random);
      await server.end('SIGKILL');
      return () => server.start();
    },
  },
  {
    name: 'kill -9 of all',
    part: 'process',
    processes: 2,
    async apply(world) {
      await Promise.all(world.servers.map((server) => server.end('SIGKILL')));
      return async () => {
        await Promise.all(world.servers.map((server) => server.start()));
      };
    },
  },
  ...(['SIGTERM', 'SIGKILL'] as const).map(
    (signal): Fault => ({
      name: `${signal} of a starting process`,
      part: 'process',
      isStart: true,
      async apply(world, random) {
        const server = runningOf(world, random);
        await server.end('SIGTERM');
        await server.start();
        await delay(between(random, 0, START_MS));
        await server.end(signal);
        return () => server.start();
      },
    }),
  ),
  {
    name: 'SIGSTOP',
    part: 'process',
    lastsMs: (random, { isLong }) => (isLong && random() < 0.05 ? LONGEST_STOP_MS : lasting(random, 100, 3000)),
    async apply(world, random) {
      const server = runningOf(world, random);
      server.pause();
      return async () => server.resume();
    },
  },
];
