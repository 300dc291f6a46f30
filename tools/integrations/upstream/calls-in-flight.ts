import type { ToolError } from '../../core/errors.ts';
import type { Tool } from '../../core/registry/define-tool.ts';

/** The calls of an integration that are under way. A call ends when its tool is no longer offered as it was when the call began. */
export class CallsInFlight {
  readonly #calls = new Map<AbortController, Tool>();

  get count(): number {
    return this.#calls.size;
  }

  /** Runs the work with a signal that aborts with the other signal or with the error of `endUnless`. Throws the error of `endUnless` where that ended it. */
  async run<Result>(
    tool: Tool,
    other: AbortSignal | undefined,
    work: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const ending = new AbortController();
    this.#calls.set(ending, tool);
    try {
      return await work(other ? AbortSignal.any([other, ending.signal]) : ending.signal);
    } catch (thrown) {
      throw ending.signal.aborted ? ending.signal.reason : thrown;
    } finally {
      this.#calls.delete(ending);
    }
  }

  endUnless(isOffered: (tool: Tool) => boolean, why: () => ToolError): void {
    for (const [ending, tool] of this.#calls) if (!isOffered(tool)) ending.abort(why());
  }
}
