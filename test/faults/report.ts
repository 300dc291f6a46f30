import { readdirSync, readFileSync } from 'node:fs';
import type { Round } from './schedule.ts';
import type { FaultedServer } from './server.ts';
import type { FaultWorld } from './world.ts';

/** Figures of one process. */
interface Sample {
  readonly megabytes: number;
  readonly files: number;
}

/** Where the time of a round went. `last`: the door that was well last. */
interface RoundTimes {
  readonly faultsMs: number;
  readonly last: string;
  readonly checkMs: number;
}

interface KindFigures {
  count: number;
  violations: number;
  readonly recoveriesMs: number[];
}

/** A process that just started has not reached its usual size. */
const SETTLED_MS = 4000;
const FEWEST_SAMPLES = 20;
/** The last tenth may be so many times the first. */
const GROWTH = 1.5;
const MEGABYTES_MORE = 60;
const FILES_MORE = 40;

/** What came of a run, by kind of fault. */
export class Report {
  readonly #world: FaultWorld;
  readonly #kinds = new Map<string, KindFigures>();
  readonly #samples: Sample[] = [];
  #round: Round = [];
  #lastMs = 0;
  #last: RoundTimes = { faultsMs: 0, last: '', checkMs: 0 };
  readonly #begun = performance.now();

  constructor(world: FaultWorld) {
    this.#world = world;
  }

  get violations(): readonly string[] {
    return this.#world.violations.all;
  }

  /** The faults under way. */
  get where(): string {
    return this.#round.map(({ number, fault }) => `${number} ${fault.name}`).join(' + ') || 'before the first fault';
  }

  get line(): string {
    const { faultsMs, last, checkMs } = this.#last;
    const seconds = Math.round((performance.now() - this.#begun) / 1000);
    return `${seconds} s, ${this.where}: well after ${Math.round(this.#lastMs)} ms (${last}), faults ${Math.round(faultsMs)} ms, check ${Math.round(checkMs)} ms, ${this.#world.load.steps} steps, ${this.violations.length} violations`;
  }

  begin(round: Round): void {
    this.#round = round;
    for (const figures of this.#current()) figures.count += 1;
  }

  recovered(ms: number): void {
    this.#lastMs = ms;
    for (const figures of this.#current()) figures.recoveriesMs.push(ms);
  }

  took(times: RoundTimes): void {
    this.#last = times;
  }

  violated(): void {
    for (const figures of this.#current()) figures.violations += 1;
  }

  sample(): void {
    for (const server of this.#world.servers) {
      const sample = server.aliveMs > SETTLED_MS ? sampleOf(server) : undefined;
      if (sample) this.#samples.push(sample);
    }
  }

  /** Memory and open files of the processes stay what they were. */
  compareSamples(): void {
    const tenth = Math.floor(this.#samples.length / 10);
    if (this.#samples.length < FEWEST_SAMPLES) return;
    const [first, last] = [middle(this.#samples.slice(0, tenth)), middle(this.#samples.slice(-tenth))];
    const { violations } = this.#world;
    const says = `${JSON.stringify(first)} at the beginning, ${JSON.stringify(last)} at the end`;
    violations.expect(last.megabytes <= first.megabytes * GROWTH + MEGABYTES_MORE, () => `memory grows: ${says}`);
    violations.expect(last.files <= first.files * GROWTH + FILES_MORE, () => `open files grow: ${says}`);
    this.flatness = says;
  }
  flatness = 'too few samples';

  get table(): string {
    const rows = [...this.#kinds]
      .sort(([one], [other]) => one.localeCompare(other))
      .map(([name, { count, violations, recoveriesMs }]) => {
        const sorted = recoveriesMs.toSorted((one, other) => one - other);
        const [p50, most] = [sorted[Math.floor(sorted.length / 2)], sorted.at(-1)].map((ms) => Math.round(ms ?? 0));
        return `| ${name} | ${count} | ${p50} | ${most} | ${violations} |`;
      });
    return [
      '| fault | times | recovery p50 ms | max ms | violations |',
      '| --- | --- | --- | --- | --- |',
      ...rows,
    ].join('\n');
  }

  #current(): KindFigures[] {
    return this.#round.map(({ fault: { name } }) => {
      const figures = this.#kinds.get(name) ?? { count: 0, violations: 0, recoveriesMs: [] };
      this.#kinds.set(name, figures);
      return figures;
    });
  }
}

/** Undefined where the system tells no figures of processes. */
function sampleOf({ pid }: FaultedServer): Sample | undefined {
  try {
    const kilobytes = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return { megabytes: Math.round(Number(kilobytes) / 1024), files: readdirSync(`/proc/${pid}/fd`).length };
  } catch {
    return undefined;
  }
}

function middle(samples: readonly Sample[]): Sample {
  const of = (figures: number[]) => figures.sort((one, other) => one - other)[Math.floor(figures.length / 2)] ?? 0;
  return { megabytes: of(samples.map(({ megabytes }) => megabytes)), files: of(samples.map(({ files }) => files)) };
}
