import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { randomFrom } from '../support/random.ts';
import { type Kept, readCorpus, writeCorpus } from './corpus.ts';
import { Coverage, type Reached } from './coverage.ts';
import { Mutators, wordsOf } from './mutate.ts';
import type { Target, World } from './target.ts';
import { targets } from './targets.ts';

/** What the process that started this one hears. */
export interface Progress {
  readonly inputs: number;
  readonly blocks: number;
  readonly corpus: number;
  readonly finds: readonly string[];
}

const BATCH = 25;
const REOPENED_AFTER = 20_000;
const MOST_CPU_MS = 2000;
const MOST_MINIMIZED = 300;
const MOST_KEPT = 100;
const MOST_KEPT_BYTES = 20_000;
const SAID_EVERY_MS = 1000;

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Feeds a target with changed inputs, keeps those that reach new blocks of the sources, and those that show a defect. */
class Loop {
  readonly #name: string;
  readonly #target: Target;
  readonly #current: string;
  readonly #coverage: Coverage;
  readonly #reached: Reached = new Map();
  readonly #corpus: string[];
  readonly #finds = new Map<string, Kept>();
  readonly #mutators: Mutators;
  #uncaught: unknown;
  #world!: World; // open before the first input
  #inputs = 0;
  #blocks = 0;
  #saidAt = 0;

  constructor(name: string, target: Target, { seed, current }: { seed: number; current: string }) {
    this.#name = name;
    this.#target = target;
    this.#current = current;
    const packages = (target.packages ?? []).map((each) => `/node_modules/${each}/`);
    const counts = (url: string) =>
      /\/node_modules\/|\/test\//.test(url) ? packages.some((part) => url.includes(part)) : url.includes(root);
    this.#coverage = new Coverage(counts);
    this.#corpus = [...new Set([...target.seeds, ...readCorpus(name).map(({ input }) => input)])];
    this.#mutators = new Mutators(randomFrom(seed), wordsOf(root, target.sources), this.#corpus);
    for (const event of ['uncaughtException', 'unhandledRejection'] as const)
      process.on(event, (error) => {
        this.#uncaught ??= error ?? new Error('undefined was thrown');
      });
  }

  async run(seconds: number): Promise<void> {
    const until = performance.now() + seconds * 1000;
    this.#world = await this.#target.open();
    await this.#coverage.begin();
    const begun = [...this.#corpus];
    for (let at = 0; at < begun.length; at += BATCH) await this.#feed(begun.slice(at, at + BATCH), false);
    let reopened = 0;
    while (performance.now() < until) {
      await this.#feed(
        Array.from({ length: BATCH }, () => this.#mutators.mutated(this.#mutators.pick(this.#corpus))),
        true,
      );
      if (this.#inputs - reopened > REOPENED_AFTER) {
        reopened = this.#inputs;
        await this.#reopen();
      }
    }
    await this.#keep();
    this.#say(true);
    await this.#world.close();
  }

  async #reopen(): Promise<void> {
    await this.#world.close();
    this.#world = await this.#target.open();
    await this.#coverage.take(new Map());
  }

  /** Runs the inputs together; one after the other where something came of them. */
  async #feed(inputs: readonly string[], isNew: boolean): Promise<void> {
    const before: Reached = new Map(this.#reached);
    writeFileSync(this.#current, JSON.stringify(inputs));
    const fault = await this.#faultOf(inputs);
    this.#inputs += inputs.length;
    const fresh = await this.#coverage.take(this.#reached);
    this.#blocks += fresh;
    if (fault !== undefined) await this.#blame(inputs, fault);
    if (fresh > 0 && isNew) await this.#sift(inputs, before);
    this.#say(false);
  }

  /** Keeps those of the inputs that reach what is not in `reached`, which is extended. */
  async #sift(inputs: readonly string[], reached: Reached): Promise<void> {
    await this.#faultOf(inputs);
    const extended: Reached = new Map(reached);
    if ((await this.#coverage.take(extended)) === 0) return;
    const [input] = inputs;
    if (inputs.length > 1) {
      const half = Math.ceil(inputs.length / 2);
      await this.#sift(inputs.slice(0, half), reached);
      await this.#sift(inputs.slice(half), reached);
    } else if (input !== undefined) this.#corpus.push(input);
    for (const [name, missed] of extended) reached.set(name, missed);
  }

  /** What was wrong with an answer, or thrown where nobody caught it. */
  async #faultOf(inputs: readonly string[]): Promise<string | undefined> {
    const { user, system } = process.cpuUsage();
    const queue = [...inputs];
    let fault: unknown;
    const lane = async () => {
      for (let input = queue.shift(); input !== undefined; input = queue.shift())
        await this.#world.run(Buffer.from(input, 'latin1'));
    };
    const lanes = Array.from({ length: this.#target.atOnce ?? 1 }, lane);
    for (const ended of await Promise.allSettled(lanes))
      if (ended.status === 'rejected') fault ??= ended.reason ?? 'nothing';
    try {
      await this.#world.settled?.();
    } catch (error) {
      fault ??= error;
    }
    fault ??= this.#uncaught;
    this.#uncaught = undefined;
    const used = process.cpuUsage({ user, system });
    const cpuMs = (used.user + used.system) / 1000;
    if (fault === undefined && cpuMs > MOST_CPU_MS) return `more than ${MOST_CPU_MS} ms of processor time`;
    return fault === undefined ? undefined : describe(fault);
  }

  async #blame(inputs: readonly string[], fault: string): Promise<void> {
    if (inputs.length === 1 && inputs[0] !== undefined) return this.#note(inputs[0], fault);
    let blamed = false;
    for (const input of inputs) {
      const own = await this.#faultOf([input]);
      if (own === undefined) continue;
      blamed = true;
      await this.#note(input, own);
    }
    if (!blamed && !/processor time/.test(fault)) await this.#note(JSON.stringify(inputs), `together: ${fault}`);
  }

  async #note(input: string, fault: string): Promise<void> {
    const kind = fault.replace(/[\d"'`].*/s, '').slice(0, 80) + (/\n\s+at .*\/(\w[\w-]+\.ts):/.exec(fault)?.[1] ?? '');
    if (this.#finds.has(kind)) return;
    this.#finds.set(kind, { input, found: fault });
    const small = fault.startsWith('together') ? input : await this.#minimized(input);
    const found = (fault.split('\n', 1)[0] ?? '').slice(0, 200);
    this.#finds.set(kind, { input: small, found });
    console.error(`\n${this.#name}: ${fault}\n${JSON.stringify(small.slice(0, 2000))}`);
    writeCorpus(this.#name, [...readCorpus(this.#name), { input: small, found }]);
  }

  /** Leaves stretches out as long as something is wrong. */
  async #minimized(input: string): Promise<string> {
    let small = input;
    let tries = 0;
    for (let size = Math.ceil(small.length / 2); size >= 1 && tries < MOST_MINIMIZED; size = Math.floor(size / 2)) {
      for (let at = 0; at < small.length && tries < MOST_MINIMIZED; tries += 1) {
        const shorter = small.slice(0, at) + small.slice(at + size);
        if ((await this.#faultOf([shorter])) !== undefined) small = shorter;
        else at += size;
      }
    }
    return small;
  }

  /** Of all inputs so far, few that reach the same blocks, shortest first, beside those that showed a defect. */
  async #keep(): Promise<void> {
    const finds = readCorpus(this.#name).filter(({ found }) => found !== undefined);
    const reached: Reached = new Map();
    const kept: Kept[] = [];
    let bytes = 0;
    await this.#reopen();
    for (const input of [...new Set(this.#corpus)].sort((one, other) => one.length - other.length)) {
      if ((await this.#faultOf([input])) !== undefined) continue;
      const fresh = await this.#coverage.take(reached);
      if (fresh === 0 || bytes + input.length > MOST_KEPT_BYTES || this.#target.seeds.includes(input)) continue;
      bytes += input.length;
      if (kept.push({ input }) >= MOST_KEPT) break;
    }
    writeCorpus(this.#name, [...finds, ...kept]);
  }

  #say(now: boolean): void {
    if (!now && performance.now() - this.#saidAt < SAID_EVERY_MS) return;
    this.#saidAt = performance.now();
    const said: Progress = {
      inputs: this.#inputs,
      blocks: this.#blocks,
      corpus: this.#corpus.length,
      finds: [...this.#finds.values()].map(({ found = '' }) => found),
    };
    process.send?.(said);
  }
}

function describe(fault: unknown): string {
  return fault instanceof Error ? (fault.stack ?? fault.message) : String(fault);
}

const [name = '', seconds = '60', seed = '1', current = ''] = process.argv.slice(2);
const target = targets[name];
if (!target) throw new Error(`There is no target ${name}.`);
await new Loop(name, target, { seed: Number(seed), current }).run(Number(seconds));
process.exit(0);
