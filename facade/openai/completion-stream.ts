import type { ServerResponse } from 'node:http';
import type { Progress } from '../../tools/core/registry/call.ts';
import type { Completed, RunNotes } from './completed.ts';
import type { CompletionRequest } from './request.ts';

interface StreamOptions extends Pick<CompletionRequest, 'model' | 'includeUsage' | 'hasForm'> {
  readonly created: number;
  readonly notes: RunNotes;
}

/** In the events of RunReporter. */
interface Told {
  readonly text?: string;
  /** So many at the end were of a turn that is taken again. */
  readonly characters?: number;
}

const HEARTBEAT_MS = 10_000;

/** The chunks of a completion. It begins with the first word, so that what fails before has the status of its error, or after a while. */
export class CompletionStream {
  readonly #response: ServerResponse;
  readonly #options: StreamOptions;
  readonly #heartbeat: NodeJS.Timeout;
  /** What was said since the last call of a tool. */
  #text = '';
  /** Text and calls came before it. */
  #parted = false;
  #isOpen = false;
  /** Where the text of a turn that is taken again begins, and what it has said now, as long as that is no more than before. */
  #from = 0;
  #again: string | undefined;

  constructor(response: ServerResponse, options: StreamOptions) {
    this.#response = response;
    this.#options = options;
    this.#heartbeat = setInterval(() => this.#beat(), HEARTBEAT_MS);
    response.once('close', () => this.stop());
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Whether clients have text that a turn which was taken again did not say. */
  get isAhead(): boolean {
    return this.#again !== undefined;
  }

  /**
   * Sends what the event adds. False if the stream cannot go on: text that was sent cannot be taken back, and a repeated turn of the model
   * differs from it.
   */
  follow({ event }: Progress): boolean {
    const { text, characters = 0 } = (event?.data ?? {}) as Told;
    if (event?.name === 'restarted' && this.#text !== '') {
      if (!this.isAhead) this.#from = Math.max(0, this.#text.length - characters);
      if (this.#from < this.#text.length) this.#again = '';
    }
    if (event?.name === 'tool_call') {
      if (this.isAhead) return false;
      this.#parted ||= this.#text !== '';
      this.#text = '';
      this.#open();
    }
    // The JSON of a schema is known to fit only at the end.
    return event?.name !== 'delta' || text === undefined || this.#options.hasForm || this.#hear(text);
  }

  finish({ id, text, finishReason, usage, metadata }: Completed): void {
    // What was not said by the model, or came before this stream: a limit, a person to wait for, a kept answer.
    if (this.#text.trim() !== text.trim()) {
      if (this.#text !== '' && text.startsWith(this.#text)) this.#say(text.slice(this.#text.length));
      else this.#say(this.#text === '' ? text : this.#options.notes.unsaid(this.#text));
    }
    this.#open();
    this.#send({ id, metadata, choices: [choiceOf({}, finishReason)] });
    if (this.#options.includeUsage) this.#send({ id, choices: [], usage });
    this.#end('data: [DONE]\n\n');
  }

  /** Without [DONE], so that no client takes what came for the whole answer. */
  fail(error: object): void {
    this.#end(`data: ${JSON.stringify({ error })}\n\n`);
  }

  stop(): void {
    clearInterval(this.#heartbeat);
  }

  #hear(text: string): boolean {
    if (this.#again === undefined) {
      this.#say(text);
      return true;
    }
    const said = this.#again + text;
    const before = this.#text.slice(this.#from);
    this.#again = said.length < before.length ? said : undefined;
    if (this.isAhead) return before.startsWith(said);
    if (!said.startsWith(before)) return false;
    this.#say(said.slice(before.length));
    return true;
  }

  #say(text: string): void {
    if (text === '') return;
    const before = this.#parted && this.#text === '' ? '\n\n' : '';
    this.#text += text;
    this.#open();
    this.#send({ choices: [choiceOf({ content: before + text }, null)] });
  }

  #open(): void {
    const response = this.#response;
    if (this.#isOpen || response.destroyed) return;
    this.#isOpen = true;
    response.writeHead(200, {
      'Content-Type': 'text/event-stream; charset=utf-8',
      'Cache-Control': 'no-store',
      'X-Accel-Buffering': 'no', // for proxies that collect an answer before they pass it on
      'X-Content-Type-Options': 'nosniff',
    });
    this.#send({ choices: [choiceOf({ role: 'assistant', content: '' }, null)] });
  }

  #beat(): void {
    this.#open();
    if (this.#isWritable) this.#response.write(': waiting\n\n');
  }

  #send(chunk: object): void {
    const { created, model, notes } = this.#options;
    const common = { id: notes.runId, object: 'chat.completion.chunk', created, model };
    if (this.#isWritable) this.#response.write(`data: ${JSON.stringify({ ...common, ...chunk })}\n\n`);
  }

  get #isWritable(): boolean {
    return !this.#response.destroyed && !this.#response.writableEnded;
  }

  #end(last: string): void {
    this.stop();
    if (this.#isWritable) this.#response.end(last);
  }
}

function choiceOf(delta: object, finishReason: string | null) {
  return { index: 0, delta, logprobs: null, finish_reason: finishReason };
}
