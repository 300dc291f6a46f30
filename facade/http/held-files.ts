import { Mutex } from '../../store/mutex.ts';
import type { Principal } from '../../tools/core/access/principal.ts';
import type { Attached } from '../../tools/core/registry/call.ts';

const turns = new Map<string, { readonly mutex: Mutex; callers: number }>();

/** The files of a request. A caller sends one such body at a time; others of it wait until `release`, so that few bytes are in memory. */
export class HeldFiles implements Attached {
  #endTurn: (() => void) | undefined;
  bytes: readonly Buffer[] = [];

  /** Waits until no other files of the caller are in memory. */
  async takeTurn({ type, id }: Principal): Promise<void> {
    const caller = `${type} ${id}`;
    const turn = turns.get(caller) ?? { mutex: new Mutex(), callers: 0 };
    turns.set(caller, turn);
    turn.callers += 1;
    const end = await turn.mutex.take();
    this.#endTurn = () => {
      end();
      turn.callers -= 1;
      if (turn.callers === 0) turns.delete(caller);
    };
  }

  release(): void {
    this.#endTurn?.();
    this.#endTurn = undefined;
    this.bytes = [];
  }
}
