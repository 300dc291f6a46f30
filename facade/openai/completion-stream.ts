import type { ServerResponse } from 'node:http';
import type { Progress } from '../../tools/core/registry/call.ts';
import type { Completed, RunNotes } from './completed.ts';
import type { CompletionRequest } from './request.ts';

interface StreamOptions extends Pick<CompletionRequest, 'model' | 'includeUsage' | 'hasForm'> {
  readonly created: number;
  readonly notes: RunNotes;
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

  constructor(response: ServerResponse, options: StreamOptions) {
    this.#response = response;
    this.#options = options;
    this.#heartbeat = setInterval(() => this.#beat(), HEARTBEAT_MS);
    response.once('close', () => this.stop());
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Clients of this form keep what they got, so an answer that begins again cannot be streamed to them. */
  cannotTakeBack({ event }: Progress): boolean {
    return event?.name === 'restarted' && this.#text !== '';
  }

  readonly onProgress = ({ event }: Progress): void => {
    const { text } = (event?.data ?? {}) as { readonly text?: string }; // the events of RunReporter
    if (event?.name === 'tool_call') {
      this.#parted ||= this.#text !== '';
      this.#text = '';
      this.#open();
    }
    // The JSON of a schema is known to fit only at the end.
    if (event?.name === 'delta' && text !== undefined && !this.#options.hasForm) this.#say(text);
  };

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
    this.#response.end(last);
  }
}

function choiceOf(delta: object, finishReason: string | null) {
  return { index: 0, delta, logprobs: null, finish_reason: finishReason };
}
