import type { CallEvent, Progress } from '../../tools/core/registry/call.ts';
import type { Answer } from '../../tools/core/registry/registry.ts';
import { acceptedTypes } from '../http/accept.ts';
import type { RequestContext } from '../http/request-context.ts';

const HEARTBEAT_MS = 15_000;

/**
 * A REST call that may take long. A client that wants events gets them as they come. The
 * stream begins with the first event, so a call that is refused before has the status of its error.
 */
export class RestCall {
  readonly #context: RequestContext;
  #heartbeat: NodeJS.Timeout | undefined;
  readonly #streams: boolean;
  #wanted: boolean;

  /** `streams`: the tool reports events. */
  constructor(context: RequestContext, { streams }: { readonly streams: boolean }) {
    const { request, response } = context;
    this.#context = context;
    this.#streams = streams;
    this.#wanted = streams && prefersEvents(request.headers.accept);
    response.once('close', () => clearInterval(this.#heartbeat));
  }

  /** `stream` in the input counts more than the header. */
  choose({ stream }: { readonly stream?: unknown }): void {
    if (typeof stream === 'boolean') this.#wanted = this.#streams && stream;
  }

  readonly onProgress = ({ event }: Progress): void => {
    if (event && this.#wanted) this.#send(event);
  };

  /** Ends the context where it is a stream. False: the caller must send the answer. */
  finish(answer: Answer): boolean {
    clearInterval(this.#heartbeat);
    const { response } = this.#context;
    if (response.destroyed) return true;
    if (!response.headersSent && !(answer.ok && this.#wanted)) return false;
    this.#send(answer.ok ? { name: 'final', data: answer.output } : { name: 'error', data: answer.error });
    clearInterval(this.#heartbeat);
    response.end();
    return true;
  }

  #send({ name, data }: CallEvent): void {
    const { response } = this.#context;
    if (response.destroyed) return;
    if (!response.headersSent) this.#open();
    response.write(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  #open(): void {
    const { response } = this.#context;
    response.writeHead(200, {
      'Content-Type': 'text/event-stream; charset=utf-8',
      'Cache-Control': 'no-store',
      'X-Accel-Buffering': 'no', // for proxies that collect an answer before they pass it on
      'X-Content-Type-Options': 'nosniff',
    });
    this.#heartbeat = setInterval(() => response.write(': waiting\n\n'), HEARTBEAT_MS);
  }
}

/** A client that accepts JSON too gets JSON, unless its input asks for a stream. */
function prefersEvents(accept: string | undefined): boolean {
  const types = acceptedTypes(accept);
  return types.includes('text/event-stream') && !types.includes('application/json');
}
