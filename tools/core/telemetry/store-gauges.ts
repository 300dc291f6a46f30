import type { Store } from '../../../store/port.ts';
import { gauge, type Measure, type Measured, type Meter } from './meter.ts';

/** What the store says of itself when somebody asks. Where several processes share it, all of them answer the same of runs and jobs. */
export function measureStore(meter: Meter, store: Store): void {
  meter.observe(() => stateOf(store));
  meter.observe(async () => [gauge(JOBS, await store.jobs.open())]);
  meter.observe(async () => [await runsOf(store)]);
}

function stateOf(store: Store): Measured[] {
  const { writable, flushMs, dropped = [] } = store.status();
  const flush = flushMs === undefined ? [] : [gauge(FLUSH, flushMs / 1000)];
  return [gauge(WRITABLE, writable ? 1 : 0), gauge(DROPPED, dropped.length), ...flush];
}

async function runsOf({ flowRuns }: Store): Promise<Measured> {
  const of = async (status: 'queued' | 'running' | 'waiting') => ({
    labels: [status],
    value: await flowRuns.count({ where: { status } }),
  });
  return { measure: RUNS, kind: 'gauge', points: [await of('queued'), await of('running'), await of('waiting')] };
}

const WRITABLE = { name: 'agent_admin.store.writable', unit: '1', help: 'Whether the store takes changes: 1 or 0.' };
const DROPPED = {
  name: 'agent_admin.store.dropped_lines',
  unit: '{line}',
  help: 'Unfinished lines that the start cut off.',
};
const FLUSH = { name: 'agent_admin.store.flush.duration', unit: 's', help: 'Time of the last flush to the disk.' };
const JOBS = { name: 'agent_admin.jobs.open', unit: '{job}', help: 'Jobs that wait or are under way.' };
const RUNS = {
  name: 'agent_admin.flow_runs.open',
  unit: '{run}',
  help: 'Runs of flows that have not ended.',
  labels: ['agent_admin.flow_run.status'],
};

/** What is read of the store, for the reference. */
export const STORE_GAUGES = [WRITABLE, DROPPED, FLUSH, JOBS, RUNS].map(
  (measure: Measure) => ({ measure, kind: 'gauge' }) as const,
);
