import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export interface ConnectionLimits {
  /** Open at a time, in all. */
  readonly maxConnections: number;
  /** How long one may take to its next whole request while none on it was authenticated. */
  readonly firstRequestMs: number;
}

export interface ConnectionOptions extends ConnectionLimits {
  /** Proxies keep connections open for callers to come. */
  isTrusted(address: string): boolean;
  /** Answers a connection that is refused or ended before its request came. */
  refuse(socket: Socket, why: 'full' | 'late'): void;
  /** Told now and then that connections were refused or ended for others to find a place. */
  onFull(): void;
}

const TOLD_EVERY_MS = 60_000;
const MOST_TURNED_AWAY = 100;

/** A connection on which nobody has been authenticated yet. */
interface Stranger {
  request: IncomingMessage | undefined;
  response: ServerResponse | undefined;
  timer: NodeJS.Timeout | undefined;
}

/**
 * Bounds what connections cost that nobody answers for: one on which no request was authenticated ends when the next does not come whole in
 * time, and where all places are taken the one that waits longest makes room.
 */
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
    for (const event of ['request', 'checkExpectation'] as const) {
      server.on(event, (request, response) => this.#begin(request, response));
    }
  }

  /** A request on this connection was authenticated: it stays open between requests like any other from now on. */
  admit({ socket }: IncomingMessage): void {
    const stranger = this.#strangers.get(socket);
    if (!stranger) return;
    clearTimeout(stranger.timer);
    this.#strangers.delete(socket);
    if (!stranger.response?.headersSent) stranger.response?.removeHeader('Keep-Alive');
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

  /** An answer takes a moment to be sent; where too many are under way there is none. */
  #turnAway(socket: Socket): void {
    if (this.#turnedAway >= MOST_TURNED_AWAY) {
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

  #timer(socket: Socket): NodeJS.Timeout {
    return setTimeout(() => this.#end(socket), this.#options.firstRequestMs).unref();
  }

  #end(socket: Socket): void {
    const stranger = this.#strangers.get(socket);
    if (!stranger || isAnswering(stranger)) return;
    if (isSending(stranger, socket)) this.#options.refuse(socket, 'late');
    else socket.destroy();
  }

  /** Ends the connection of a stranger who waits longest; false where there is none. */
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

/** The request came whole, and is being answered: the time is ours now. */
function isAnswering({ request, response }: Stranger): boolean {
  return request?.complete === true && response?.closed === false;
}

/** Something of a request came since the last answer. */
function isSending({ response }: Stranger, { bytesRead }: Socket): boolean {
  return response === undefined ? bytesRead > 0 : !response.closed;
}
