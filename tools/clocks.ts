import type { IntegrationHealth } from '../resources/health.ts';
import type { Cluster, ProcessClock } from '../store/cluster-port.ts';
import type { Dependency } from './core/registry/context.ts';

/** Processes whose clocks are further apart judge the ends of links, sessions and signatures differently. */
export const MOST_APART_MS = 5000;

interface WrongClock {
  readonly process: string;
  readonly text: string;
}

declare module './core/registry/context.ts' {
  interface ServerContext {
    /** Absent if this process has its store for itself. */
    readonly clocks?: Clocks | undefined;
  }
}

export class Clocks implements Dependency {
  readonly #cluster: Pick<Cluster, 'clocks'>;

  constructor(cluster: Pick<Cluster, 'clocks'>) {
    this.#cluster = cluster;
  }

  async health(): Promise<readonly IntegrationHealth[]> {
    const started = performance.now();
    const wrong = await this.wrong().catch(() => []); // the health of the store says why
    const latencyMs = Math.round(performance.now() - started);
    const about = { name: 'clocks', kind: 'processes', latencyMs };
    if (wrong.length === 0) return [{ ...about, status: 'ok' }];
    return [{ ...about, status: 'degraded', lastError: wrong.map(({ text }) => text).join(' ') }];
  }

  async wrong(): Promise<readonly WrongClock[]> {
    return wrongClocks(await this.#cluster.clocks());
  }
}

/** Whether it is time, or the wait began in the future: the clock was wrong then, or is now. */
export function hasCome(at: string | undefined, since: string | undefined, now: Date): boolean {
  if (at === undefined || Date.parse(at) <= now.getTime()) return true;
  return Date.parse(since ?? at) > now.getTime() + MOST_APART_MS;
}

/** What a clock that was ahead says of a beginning counts as now. */
export function notAhead(since: string | undefined, now: Date): string {
  return since !== undefined && Date.parse(since) <= now.getTime() ? since : now.toISOString();
}

/** Those that are more than 5 s from the database, or the two that are as far from each other. */
export function wrongClocks(clocks: readonly ProcessClock[]): WrongClock[] {
  const wrong = clocks.filter(({ aheadMs }) => Math.abs(aheadMs) > MOST_APART_MS);
  if (wrong.length > 0) return wrong.map((clock) => wrongClock(clock, clock.aheadMs, 'that of the database'));
  const sorted = [...clocks].sort((one, other) => one.aheadMs - other.aheadMs);
  const [last, first] = [sorted[0], sorted.at(-1)];
  if (!last || !first || first.aheadMs - last.aheadMs <= MOST_APART_MS) return [];
  return [wrongClock(first, first.aheadMs - last.aheadMs, `that of ${named(last)}`)];
}

function wrongClock(clock: ProcessClock, aheadMs: number, whose: string): WrongClock {
  const seconds = (Math.abs(aheadMs) / 1000).toFixed(1);
  const side = aheadMs > 0 ? 'ahead of' : 'behind';
  const text = `The clock of ${named(clock)} is ${seconds} s ${side} ${whose}: set it by NTP.`;
  return { process: clock.process, text };
}

function named({ process, host }: ProcessClock): string {
  return `process ${process} on host ${host}`;
}
