import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

const EVERY_MS = 40;
const MOST_OPEN = 24;
/** What is right to say to a request that is none, or comes too late. */
const RIGHT = /^(400|408|431|503|200)$/;

/** Each opens a connection and does not send what a server waits for. */
const SENDERS: readonly ((socket: Socket) => void)[] = [
  (socket) => void socket.write('GET /read'),
  (socket) => void slowly(socket, 'GET /readyz HTTP/1.1\r\nHost: localhost\r\nX-Slow: 1\r\n\r\n'),
  (socket) => void socket.write('\x16\x03\x01\x02\x00 no request\r\n\r\n'),
  () => {},
];

async function slowly(socket: Socket, text: string): Promise<void> {
  for (const letter of text) {
    if (!socket.writable) return;
    socket.write(letter);
    await delay(20);
  }
}

/** Connections of clients that keep a server waiting, as long as they are not stopped. */
export class RawSockets {
  /** Answers that nobody should get, each once. */
  readonly wrong = new Set<string>();
  readonly #port: number;
  readonly #open = new Set<Socket>();
  #isRunning = true;
  readonly #running: Promise<void>;

  constructor(port: number) {
    this.#port = port;
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#isRunning = false;
    await this.#running;
    for (const socket of this.#open) socket.destroy();
  }

  async #run(): Promise<void> {
    for (let at = 0; this.#isRunning; at += 1) {
      const send = SENDERS[at % SENDERS.length];
      if (send && this.#open.size < MOST_OPEN) this.#connect(send);
      await delay(EVERY_MS);
    }
  }

  #connect(send: (socket: Socket) => void): void {
    const socket = connect(this.#port, '127.0.0.1', () => send(socket));
    this.#open.add(socket);
    socket.on('error', () => {}); // there is no server, or it went away
    socket.once('close', () => this.#open.delete(socket));
    socket.on('data', (chunk) => {
      const status = /^HTTP\/1\.1 (\d+)/.exec(chunk.toString('latin1'))?.[1];
      if (status !== undefined && !RIGHT.test(status)) this.wrong.add(`a connection without a request: ${status}`);
    });
  }
}
