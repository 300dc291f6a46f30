import { monitorEventLoopDelay } from 'node:perf_hooks';
import { count, gauge, type Measured } from './meter.ts';

/** How often the delay of the event loop is looked at. */
const RESOLUTION_MS = 20;

/** What the process itself uses. */
interface ProcessMeasures {
  read(): Measured[];
  close(): void;
}

export function measureProcess(): ProcessMeasures {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  const startedAt = performance.timeOrigin / 1000;
  /** The delay of the loop since the last time that somebody asked, beyond the pace at which it is looked at. */
  const delays = (): Measured[] => {
    const seconds = (nanoseconds: number) => Math.max(0, nanoseconds / 1e9 - RESOLUTION_MS / 1000);
    const read = [
      gauge(loop('p50', 'half of the time'), seconds(delay.percentile(50))),
      gauge(loop('p99', '1 % of the time'), seconds(delay.percentile(99))),
      gauge(loop('max', 'at worst'), seconds(delay.max)),
    ];
    const isKnown = delay.count > 0;
    delay.reset();
    return isKnown ? read : [];
  };
  return {
    read: () => [...usage(startedAt), ...delays()],
    close: () => void delay.disable(),
  };
}

function loop(which: string, when: string) {
  const name = `nodejs.eventloop.delay.${which}`;
  return { name, unit: 's', help: `How late the event loop was ${when} since the last reading.` };
}

function usage(startedAt: number): Measured[] {
  const { user, system } = process.cpuUsage();
  const { rss, heapUsed, heapTotal, external } = process.memoryUsage();
  const { utilization } = performance.eventLoopUtilization();
  return [
    count({ ...CPU, prometheus: 'process_cpu_seconds_total' }, (user + system) / 1e6),
    gauge({ ...MEMORY, prometheus: 'process_resident_memory_bytes' }, rss),
    gauge({ ...START, prometheus: 'process_start_time_seconds' }, startedAt),
    gauge({ name: 'v8js.memory.heap.used', unit: 'By', help: 'Heap in use.' }, heapUsed),
    gauge({ name: 'v8js.memory.heap.size', unit: 'By', help: 'Heap taken from the system.' }, heapTotal),
    gauge({ name: 'v8js.memory.external', unit: 'By', help: 'Memory of objects outside the heap.' }, external),
    gauge(
      { name: 'nodejs.eventloop.utilization', unit: '1', help: 'Share of its life in which the event loop was busy.' },
      utilization,
    ),
  ];
}

const CPU = { name: 'process.cpu.time', unit: 's', help: 'Processor time of the process, of all its threads.' };
const MEMORY = { name: 'process.memory.usage', unit: 'By', help: 'Memory that the process occupies.' };
const START = { name: 'process.start_time', unit: 's', help: 'When the process started, in seconds since 1970.' };
