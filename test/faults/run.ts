import { setTimeout as delay } from 'node:timers/promises';
import { DoorProbes } from '../support/door-probes.ts';
import { send } from '../support/http.ts';
import { between, type Undo } from './fault.ts';
import { Report } from './report.ts';
import { type Planned, type Round, type ScheduleOptions, scheduleOf } from './schedule.ts';
import type { FaultedServer } from './server.ts';
import { FaultWorld, type WorldOptions } from './world.ts';

/** Where recovery is to be in time, a slow machine gets so many of its starts for it. */
const STARTS = 4;
/** Then nothing more is to be expected. */
const GIVE_UP_MS = 60_000;
/** A paused process may be silent for 30 s, and for as long as other faults of its round last. */
const PROBES = { everyMs: 250, longestMs: 120_000 };
const MOST_PAUSE_MS = 300;

export interface RunOptions extends WorldOptions, ScheduleOptions {
  /** All doors must answer well so soon after a fault. Left out where tests run beside: then within `GIVE_UP_MS`. */
  readonly recoveryMs?: number;
  /** Whether no more faults are wanted. */
  readonly isStopped?: () => boolean;
  /** Called with each line of progress. */
  readonly say: (line: string) => void;
}

/** Has faults befall processes under load. The report says what was wrong. */
export async function runFaults(options: RunOptions): Promise<Report> {
  const { say, seed, faults, store, processes } = options;
  say(`seed ${seed}: ${faults} faults, ${processes} on ${store}`);
  const world = await FaultWorld.open(options);
  const report = new Report(world);
  world.violations.onFound = (what) => {
    report.violated();
    say(`VIOLATION ${report.where}: ${what}`);
  };
  const probes = world.servers.map(
    ({ baseUrl }) => new DoorProbes(baseUrl, world.doors, PROBES.everyMs, PROBES.longestMs),
  );
  try {
    await world.load.check(); // what is wrong without a fault
    for (const round of scheduleOf(options)) {
      if (options.isStopped?.()) break;
      await befall(world, report, round, options.recoveryMs);
      for (const wrong of [...probes.flatMap((probe) => [...takeAll(probe.wrong)]), ...world.takeWrong()])
        world.violations.found(wrong);
      report.sample();
      say(report.line);
    }
    await world.load.check(true);
    report.compareSamples();
  } finally {
    await Promise.all(probes.map((probe) => probe.stop()));
    await world.close();
    for (const wrong of world.takeWrong()) world.violations.found(wrong);
  }
  return report;
}

async function befall(world: FaultWorld, report: Report, round: Round, recoveryMs = GIVE_UP_MS): Promise<void> {
  report.begin(round);
  const undos: { readonly undo: Undo; readonly planned: Planned }[] = [];
  world.calmSince = Number.POSITIVE_INFINITY;
  for (const planned of inOrder(round)) {
    const { fault, random } = planned;
    undos.push({ undo: await begun(world, planned), planned });
    await delay(fault.lastsMs?.(random, world) ?? between(random, 0, 1000));
  }
  // Processes start on a world that is whole.
  const ofProcess = ({ planned: { fault } }: (typeof undos)[number]) => Number(fault.part === 'process');
  for (const { undo } of undos.toSorted((one, other) => ofProcess(one) - ofProcess(other))) await undo();
  for (const server of world.servers) await server.start(); // also one that ended by itself, which is a violation
  const ms = await recovery(world);
  world.calmSince = performance.now();
  report.recovered(ms);
  const limit = Math.max(recoveryMs, STARTS * world.startMs);
  world.violations.expect(ms <= limit, () => `recovery took ${Math.round(ms)} ms`);
  await delay(between(round[0]?.random ?? Math.random, 0, MOST_PAUSE_MS));
  await world.load.check();
}

/** What befalls a process that has just ended does nothing. */
async function begun(world: FaultWorld, { fault, random }: Planned): Promise<Undo> {
  const isRunning = world.servers.some(({ pid }) => pid !== undefined);
  try {
    return await fault.apply(world, random);
  } catch (error) {
    if (isRunning) throw error;
    return async () => {};
  }
}

/** Starts first, as they need what is whole; then what breaks the world; then what befalls processes in it. */
function inOrder(round: Round): readonly Planned[] {
  const rank = ({ fault: { isStart, part } }: Planned) => (isStart ? 0 : part === 'process' ? 2 : 1);
  return round.toSorted((one, other) => rank(one) - rank(other));
}

async function recovery(world: FaultWorld): Promise<number> {
  const begun = performance.now();
  await Promise.all(world.servers.map((server) => answersWell(world, server, begun + GIVE_UP_MS)));
  return performance.now() - begun;
}

async function answersWell(world: FaultWorld, server: FaultedServer, deadline: number): Promise<void> {
  for (const { name, path, method = 'GET', headers = {}, body, right } of world.doors) {
    for (;;) {
      const request = { method, headers, body, signal: AbortSignal.timeout(GIVE_UP_MS) };
      const answer = await send(`${server.baseUrl}${path}`, request).catch(() => undefined);
      if (answer?.status === right) break;
      if (performance.now() > deadline)
        throw new Error(
          `${name} of process ${server.at} does not recover: ${answer?.status} ${answer?.text.slice(0, 300)} ${server.said().slice(-2000)}`,
        );
      await delay(20);
    }
  }
}

function takeAll<Item>(set: Set<Item>): Item[] {
  const all = [...set];
  set.clear();
  return all;
}
