import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from './fault.ts';
import type { Violations, Work } from './work.ts';

/** Has all works take their steps, each one after the other, and stands still while they are compared. */
export class Load {
  readonly #works: readonly Work[];
  readonly #violations: Violations;
  readonly #random: Random;
  #underWay = 0;
  #isRunning = true;
  #resumed: Promise<void> = Promise.resolve();
  #resume = () => {};
  readonly #loops: Promise<unknown>;
  steps = 0;

  constructor(works: readonly Work[], violations: Violations, random: Random) {
    this.#works = works;
    this.#violations = violations;
    this.#random = random;
    this.#loops = Promise.all(works.map((work) => this.#loop(work)));
  }

  /** Compares all works while nothing is under way; the last one with what came of the others too. */
  async check(isLast = false): Promise<void> {
    this.#resumed = new Promise((resolve) => {
      this.#resume = resolve;
    });
    while (this.#underWay > 0) await delay(5);
    if (isLast) this.#isRunning = false;
    const [accounts, ...others] = [...this.#works].reverse();
    await Promise.all(others.map((work) => this.#guarded(work, () => work.check(isLast))));
    if (accounts) await this.#guarded(accounts, () => accounts.check(isLast));
    this.#resume();
  }

  async close(): Promise<void> {
    this.#isRunning = false;
    this.#resume();
    await Promise.all(this.#works.map((work) => work.close?.()));
    await this.#loops;
  }

  async #loop(work: Work): Promise<void> {
    while (this.#isRunning) {
      await delay(work.everyMs * (0.5 + this.#random()));
      await this.#resumed;
      if (!this.#isRunning) return;
      this.#underWay += 1;
      this.steps += 1;
      await this.#guarded(work, () => work.step());
      this.#underWay -= 1;
    }
  }

  async #guarded(work: Work, part: () => Promise<void>): Promise<void> {
    await part().catch((error) =>
      this.#violations.found(`${work.name}: ${error instanceof Error ? error.stack : error}`),
    );
  }
}
