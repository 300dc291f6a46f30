import { renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** What a process believes of the world. Nothing named: all is as it is. */
export interface ProcessState {
  /** How far its clock is ahead. Negative: behind. */
  readonly aheadMs?: number;
  /** Names of hosts are not resolved. */
  readonly namesAreGone?: boolean;
}

const SHIM = fileURLToPath(new URL('./process-shim.mjs', import.meta.url));

/** Sets the clock and the names of processes that were started with `env`, while they run and before. */
export class ProcessControls {
  readonly #link: string;
  #state: ProcessState = {};

  /** `folder`: where the processes find what they are told. */
  constructor(folder: string, name: string) {
    this.#link = join(folder, `state-of-${name}`);
  }

  get env(): Record<string, string> {
    return { NODE_OPTIONS: `--import=${SHIM}`, FAULT_STATE: this.#link };
  }

  /** Heard within 20 ms. */
  set(state: ProcessState): void {
    this.#state = { ...this.#state, ...state };
    const next = `${this.#link}.next`;
    rmSync(next, { force: true });
    symlinkSync(JSON.stringify(this.#state), next);
    renameSync(next, this.#link);
  }
}
