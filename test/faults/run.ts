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
/** Worth being told of. */
const LONG_ANSWER_MS = 1000;

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
  const begun = performance.now();
  const undos: { readonly undo: Undo; readonly planned: Planned }[] = [];
  world.calmSince = Number.POSITIVE_INFINITY;
  for (const planned of inOrder(round)) {
    const { fault, random } = planned;
    undos.push({ undo: await beginning(world, planned), planned });
    await delay(fault.lastsMs?.(random, world) ?? between(random, 0, 1000));
  }
  // Processes start on a world that is whole.
  const ofProcess = ({ planned: { fault } }: (typeof undos)[number]) => Number(fault.part === 'process');
  for (const { undo } of undos.toSorted((one, other) => ofProcess(one) - ofProcess(other))) await undo();
  for (const server of world.servers) await server.start(); // also one that ended by itself, which is a violation
  const faultsMs = performance.now() - begun;
  const { ms, last } = await recovery(world);
  world.calmSince = performance.now();
  report.recovered(ms);
  const limit = Math.max(recoveryMs, STARTS * world.startMs);
  world.violations.expect(ms <= limit, () => `recovery took ${Math.round(ms)} ms, of ${last}`);
  await delay(between(round[0]?.random ?? Math.random, 0, MOST_PAUSE_MS));
  const checkBegun = performance.now();
  await world.load.check();
  report.took({ faultsMs, last, checkMs: performance.now() - checkBegun });
}

/** What befalls a process that has just ended does nothing. */
async function beginning(world: FaultWorld, { fault, random }: Planned): Promise<Undo> {
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

/** How long it took until all doors of all processes answered well, and which was the last that did not. */
async function recovery(world: FaultWorld): Promise<{ readonly ms: number; readonly last: string }> {
  const begun = performance.now();
  const lasts = await Promise.all(world.servers.map((server) => answersWell(world, server, begun + GIVE_UP_MS)));
  const ms = performance.now() - begun;
  return { ms, last: lasts.toSorted((one, other) => one.at - other.at).at(-1)?.what ?? 'nothing' };
}

async function answersWell(world: FaultWorld, server: FaultedServer, deadline: number) {
  let last = { at: 0, what: 'nothing' };
  for (const { name, path, method = 'GET', headers = {}, body, right } of world.doors) {
    for (;;) {
      const request = { method, headers, body, signal: AbortSignal.timeout(GIVE_UP_MS) };
      const asked = performance.now();
      const answer = await send(`${server.baseUrl}${path}`, request).catch(() => undefined);
      const isRight = answer?.status === right;
      const at = performance.now();
      if (!isRight || at - asked > LONG_ANSWER_MS)
        last = {
          at,
          what: `${name} of process ${server.at}, ${answer?.status}, ${Math.round(at - asked)} ms${server.startStep}`,
        };
      if (isRight) break;
      if (performance.now() > deadline)
        throw new Error(
          `${name} of process ${server.at} does not recover: ${answer?.status} ${answer?.text.slice(0, 300)} ${server.said().slice(-2000)}`,
        );
      await delay(20);
    }
  }
  return last;
}

function takeAll<Item>(set: Set<Item>): Item[] {
  const all = [...set];
  set.clear();
  return all;
}
