import type {
  AgentRun,
  AgentRunCall,
  AgentTurn,
  FallbackReason,
  GivenPassage,
  ModelFallback,
  RecordRevision,
} from '../../../resources/agent-run.ts';
import type { Citation } from '../../../resources/message.ts';
import { storableText } from '../../core/models/sanitize-text.ts';
import { NO_TOKENS, sumOfTokens } from '../../core/models/token-usage.ts';
import type { Progress } from '../../core/registry/call.ts';
import type { Evidence, ToolCall, ToolResult } from './agent-tools.ts';
import { citationsIn } from './knowledge.ts';
import type { Listener, Step } from './loop.ts';
import type { Turn } from './turn.ts';

/** Pieces of text that come within this time are sent together. */
const TOGETHER_MS = 40;
const LONGEST_LINE = 200;

interface Reporting {
  readonly run: Pick<AgentRun, 'id' | 'threadId' | 'model'>;
  readonly trace: RunTrace;
  report(progress: Progress): void;
  stepped(step: Step): Promise<void>;
}

/** Reports the progress of a run to the caller, traces it, and keeps what the model wrote since its last turn that called tools. */
export class RunReporter implements Listener {
  readonly #parts: Reporting;
  readonly #calls: { readonly call: ToolCall; readonly ok: boolean }[] = [];
  #progress = 0;
  #unfinished = '';
  #pending = '';
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: Reporting) {
    this.#parts = parts;
  }

  get unfinished(): string {
    return storableText(this.#unfinished);
  }

  /** Every call so far, in the form that answers show. */
  get calls() {
    return this.#calls.map(({ call: { id, tool, arguments: args }, ok }) => ({ id, tool, arguments: args, ok }));
  }

  began(): void {
    const { id: runId, threadId, model } = this.#parts.run;
    this.#tell(`Running on ${model}`, 'run', { runId, threadId, model });
  }

  said(text: string): void {
    this.#unfinished += text;
    this.#pending += text;
    if (this.#timer) return;
    this.#flush();
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#flush();
    }, TOGETHER_MS);
  }

  restarted(text: string): void {
    const characters = text.length - this.#pending.length;
    this.#pending = '';
    this.#unfinished = this.#unfinished.slice(0, this.#unfinished.length - text.length);
    this.#tell('The answer broke off and begins again', 'restarted', { characters });
  }

  fellBack(model: string, reason: FallbackReason): void {
    this.#parts.trace.fellBack(model, reason);
    this.#tell(`${model} did not answer (${reason}); another model is asked`, 'fallback', { model, reason });
  }

  turned(turn: Turn, model = this.#parts.run.model): void {
    this.#parts.trace.turned(model, turn);
  }

  calling({ id, tool, arguments: args }: ToolCall): void {
    this.#flush();
    this.#tell(`Calling ${tool}`, 'tool_call', { id, tool, arguments: args });
  }

  called(call: ToolCall, result: ToolResult): void {
    const { id, tool } = call;
    const { ok, text, waits: approval } = result;
    this.#parts.trace.called(call, result);
    this.#calls.push({ call, ok });
    const line = ok ? `${tool} answered` : `${tool} failed: ${text}`;
    this.#tell(line.slice(0, LONGEST_LINE), 'tool_result', {
      id,
      tool,
      ok,
      content: text,
      ...(approval && { approval }),
    });
  }

  async stepped(step: Step): Promise<void> {
    await this.#parts.stepped(step);
    this.#unfinished = '';
  }

  /** After this, nothing more is reported. */
  end(): void {
    this.#flush();
    clearTimeout(this.#timer);
  }

  #flush(): void {
    const text = this.#pending;
    this.#pending = '';
    if (text !== '') this.#tell(text, 'delta', { text });
  }

  #tell(message: string, name: string, data: object): void {
    this.#progress += 1;
    this.#parts.report({ progress: this.#progress, message, event: { name, data } });
  }
}

/** What the prompt of a run was made of. */
interface RunTraceInput {
  readonly config: RecordRevision;
  readonly skills: readonly RecordRevision[];
  readonly memories: readonly RecordRevision[];
  readonly passages: readonly GivenPassage[];
}

type FilesGiven = (model: string | undefined) => NonNullable<AgentRun['attachments']>;

/** What a run was given and did, in the form in which it is stored. It holds no text that was said, and no arguments. */
export class RunTrace {
  readonly #turns: AgentTurn[] = [];
  readonly #calls: AgentRunCall[] = [];
  #given: Partial<Pick<AgentRun, 'prompt' | 'skills' | 'memories' | 'passages'>> = {};
  #filesAs: FilesGiven = () => [];
  #summary: AgentRun['summary'];
  readonly #fallbacks: ModelFallback[] = [];

  gave({ config, skills, memories, passages }: RunTraceInput): void {
    const given = passages.map(({ number, path, offset, ...record }) => ({ ...stateOf(record), number, path, offset }));
    this.#given = {
      prompt: stateOf(config),
      skills: skills.map(stateOf),
      memories: memories.map(stateOf),
      ...(given.length > 0 && { passages: given }),
    };
  }

  /** @param filesAs The files, as a model gets them. */
  attached(filesAs: FilesGiven): void {
    this.#filesAs = filesAs;
  }

  shortened({ messageId, messages, leftOut }: NonNullable<AgentRun['summary']>): void {
    this.#summary = { ...(messageId && { messageId }), messages, leftOut };
  }

  summarized(model: string, { usage, ms }: Pick<Turn, 'usage' | 'ms'>): void {
    this.#turns.push({ model, usage, ...timed(Math.round(ms)), summarizes: true, calls: 0 });
  }

  turned(model: string, { usage, ms, calls, cut }: Pick<Turn, 'usage' | 'ms' | 'calls' | 'cut'>): void {
    this.#turns.push({ model, usage, ...timed(Math.round(ms)), calls: calls.length, ...(cut && { cutOff: true }) });
  }

  fellBack(model: string, reason: FallbackReason): void {
    this.#fallbacks.push({ model, reason, turn: this.#turns.length + 1 });
  }

  /** The model that took the last turn. */
  get lastModel(): string | undefined {
    return this.#turns.at(-1)?.model;
  }

  get fallbacks(): readonly ModelFallback[] {
    return this.#fallbacks;
  }

  /** What the model of the last turn was not shown. Undefined: nothing. */
  get leftOut(): { readonly messages: number; readonly files: number } | undefined {
    const messages = this.#summary?.leftOut ?? 0;
    const files = this.#filesAs(this.lastModel).filter((file) => file.as === 'left out').length;
    return messages + files > 0 ? { messages, files } : undefined;
  }

  called({ id, tool }: ToolCall, { ok, evidence }: ToolResult): void {
    const { ms, ...rest } = evidence ?? NOT_RUN;
    const outcome = ok ? 'ok' : 'failed';
    this.#calls.push({
      turn: Math.max(1, this.#turns.length),
      tool,
      toolCallId: id,
      outcome,
      ...rest,
      ...timed(Math.round(ms * 1000) / 1000),
    });
  }

  /** What an answer names of the passages in its prompt. */
  citations(text: string): Citation[] {
    return citationsIn(text, this.#given.passages ?? []);
  }

  /** How many turns were taken. */
  get turns(): number {
    return this.#turns.length;
  }

  get state() {
    const usage = this.#turns.reduce((all, turn) => sumOfTokens(all, turn.usage), NO_TOKENS);
    const summary = this.#summary && { summary: this.#summary };
    const attachments = this.#filesAs(this.lastModel);
    return {
      ...this.#given,
      ...summary,
      ...(attachments.length > 0 && { attachments }),
      steps: this.#turns.length,
      usage,
      turns: [...this.#turns],
      calls: [...this.#calls],
      ...(this.#fallbacks.length > 0 && { fallbacks: [...this.#fallbacks] }),
    };
  }
}

/** Of what has just ended after so many milliseconds. */
function timed(ms: number) {
  return { at: new Date(Date.now() - ms).toISOString(), ms };
}

const NOT_RUN: Evidence = { ms: 0, records: [] };

function stateOf({ id, revision }: RecordRevision): RecordRevision {
  return { id, revision };
}
