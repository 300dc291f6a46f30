import type { AgentRun, AgentRunCall, AgentTurn, ReadRecord } from '../../../resources/agent-run.ts';
import type { Evidence, ToolCall, ToolResult } from './agent-tools.ts';
import { sum, type Turn } from './loop.ts';

/** What the prompt of a run was made of. */
interface RunTraceInput {
  readonly config: ReadRecord;
  readonly skills: readonly ReadRecord[];
  readonly memories: readonly ReadRecord[];
}

/** What a run was given and did, in the form in which it is stored. It holds no text that was said, and no arguments. */
export class RunTrace {
  readonly #turns: AgentTurn[] = [];
  readonly #calls: AgentRunCall[] = [];
  #given: Partial<Pick<AgentRun, 'prompt' | 'skills' | 'memories'>> = {};

  gave({ config, skills, memories }: RunTraceInput): void {
    this.#given = { prompt: stateOf(config), skills: skills.map(stateOf), memories: memories.map(stateOf) };
  }

  turned(model: string, { usage, ms, calls }: Pick<Turn, 'usage' | 'ms' | 'calls'>): void {
    this.#turns.push({ model, usage, ms: Math.round(ms), calls: calls.length });
  }

  called({ tool }: ToolCall, { ok, evidence }: ToolResult): void {
    const { ms, ...rest } = evidence ?? NOT_RUN;
    const outcome = ok ? 'ok' : 'failed';
    this.#calls.push({ turn: this.#turns.length, tool, outcome, ...rest, ms: Math.round(ms * 1000) / 1000 });
  }

  /** How many turns were taken. */
  get turns(): number {
    return this.#turns.length;
  }

  get state() {
    const usage = this.#turns.reduce((all, turn) => sum(all, turn.usage), { inputTokens: 0, outputTokens: 0 });
    return { ...this.#given, steps: this.#turns.length, usage, turns: [...this.#turns], calls: [...this.#calls] };
  }
}

const NOT_RUN: Evidence = { ms: 0, records: [] };

function stateOf({ id, revision }: ReadRecord): ReadRecord {
  return { id, revision };
}
