import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

interface ConnectionLimits {
  readonly maxConnections: number;
  /** How long a connection may take for its next complete request, as long as none on it was authenticated. */
  readonly firstRequestMs: number;
  readonly maxRefusals?: number;
}

interface ConnectionOptions extends ConnectionLimits {
  /** Proxies keep connections open for callers to come. */
  isTrusted(address: string): boolean;
  refuse(socket: Socket, why: 'full' | 'late'): void;
  onFull(): void;
}

const TOLD_EVERY_MS = 60_000;
const MOST_REFUSALS = 100;

/** A connection on which nobody has been authenticated yet. */
interface Stranger {
  request: IncomingMessage | undefined;
  response: ServerResponse | undefined;
  timer: NodeJS.Timeout | undefined;
}

/** Bounds the connections of strangers: one without a complete request in time ends, and when all places are taken the oldest makes room. */
export class Connections {
  readonly #options: ConnectionOptions;
  /** Oldest first. */
  readonly #strangers = new Map<Socket, Stranger>();
  #open = 0;
  #turnedAway = 0;
  #toldAt = Number.NEGATIVE_INFINITY;

  constructor(server: Server, options: ConnectionOptions) {
    this.#options = options;
    server.on('connection', (socket) => this.#enter(socket));
    // Before the listener that answers: an answer that is given takes no more headers.
    for (const event of ['request', 'checkExpectation'] as const) {
      server.prependListener(event, (request, response) => this.#begin(request, response));
    }
  }

  /** Called when a request on this connection was authenticated: from now on the connection stays open between requests. */
  admit({ socket }: IncomingMessage): void {
    const stranger = this.#strangers.get(socket);
    if (!stranger) return;
    clearTimeout(stranger.timer);
    this.#strangers.delete(socket);
    if (!stranger.response?.headersSent) stranger.response?.removeHeader('Keep-Alive');
  }

  /** Ends the connections of strangers whose next request has not come whole. A request that is being answered goes on. */
  endWaiting(): void {
    for (const socket of [...this.#strangers.keys()]) this.#end(socket);
  }

  #enter(socket: Socket): void {
    if (this.#open >= this.#options.maxConnections && !this.#makeRoom()) {
      this.#turnAway(socket);
      return;
    }
    this.#open += 1;
    socket.once('close', () => this.#leave(socket));
    if (this.#options.isTrusted(socket.remoteAddress ?? '')) return;
    this.#strangers.set(socket, { request: undefined, response: undefined, timer: this.#timer(socket) });
  }

  /** Refuses with an answer. While many such answers are being sent, further connections are closed without one. */
  #turnAway(socket: Socket): void {
    if (this.#turnedAway >= (this.#options.maxRefusals ?? MOST_REFUSALS)) {
      socket.destroy();
      return;
    }
    this.#turnedAway += 1;
    socket.once('close', () => {
      this.#turnedAway -= 1;
    });
    this.#options.refuse(socket, 'full');
  }

  #leave(socket: Socket): void {
    this.#open -= 1;
    clearTimeout(this.#strangers.get(socket)?.timer);
    this.#strangers.delete(socket);
  }

  #begin(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    const stranger = this.#strangers.get(socket);
    if (!stranger) return;
    Object.assign(stranger, { request, response });
    const seconds = Math.floor(this.#options.firstRequestMs / 1000);
    if (seconds > 0) response.setHeader('Keep-Alive', `timeout=${seconds}`);
    response.once('close', () => {
      clearTimeout(stranger.timer);
      if (this.#strangers.has(socket)) stranger.timer = this.#timer(socket);
    });
  }

  /** Ends the connection a turn after its time: what came while the process was at work is read in between. */
  #timer(socket: Socket): NodeJS.Timeout {
    const endIfNoneCame = () => {
      if (this.#strangers.get(socket)?.timer === timer) this.#end(socket); // an answer meanwhile set another timer
    };
    const timer = setTimeout(() => setImmediate(endIfNoneCame), this.#options.firstRequestMs).unref();
    return timer;
  }

  #end(socket: Socket): void {
    const stranger = this.#strangers.get(socket);
    if (!stranger || isAnswering(stranger)) return;
    if (isSending(stranger, socket)) this.#options.refuse(socket, 'late');
    else socket.destroy();
  }

  #makeRoom(): boolean {
    this.#tell();
    for (const [socket, stranger] of this.#strangers) {
      if (isAnswering(stranger)) continue;
      this.#strangers.delete(socket);
      clearTimeout(stranger.timer);
      socket.destroy();
      return true;
    }
    return false;
  }

  #tell(): void {
    const now = performance.now();
    if (now - this.#toldAt < TOLD_EVERY_MS) return;
    this.#toldAt = now;
    this.#options.onFull();
  }
}

/** The request is complete and being answered, so the client's time is not counted. */
function isAnswering({ request, response }: Stranger): boolean {
  return request?.complete === true && response?.closed === false;
}

/** Part of a request has come since the last answer. */
function isSending({ response }: Stranger, { bytesRead }: Socket): boolean {
  return response === undefined ? bytesRead > 0 : !response.closed;
}
