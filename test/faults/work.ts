/** A part of the load: what one caller does again and again, and what it knows of what was acknowledged. */
export interface Work {
  readonly name: string;
  /** Milliseconds between two steps, about. */
  readonly everyMs: number;
  /** Makes one or a few requests. Their failures are outcomes; what it throws is a violation. */
  step(): Promise<void>;
  /** Compares what the doors show with what was acknowledged. No step is under way, and all processes are well. `isLast`: no more load comes. */
  check(isLast: boolean): Promise<void>;
  close?(): Promise<void>;
}

/** What the harness finds wrong. */
export class Violations {
  readonly all: string[] = [];
  /** Called for each. */
  onFound: (what: string) => void = () => {};

  found(what: string): void {
    this.all.push(what);
    this.onFound(what);
  }

  /** Notes a violation where the condition does not hold. */
  expect(holds: boolean, what: () => string): void {
    if (!holds) this.found(what());
  }
}
