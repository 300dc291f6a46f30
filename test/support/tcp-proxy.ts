import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { closedAtEnd } from './at-end.ts';

/** From the client to the server, or back. */
export type Direction = 'up' | 'down';

/** What becomes of bytes. Dropped ones are gone, and so is the end of the connection in that direction; held ones wait. */
export type Treatment =
  | { readonly kind: 'pass' }
  | { readonly kind: 'hold' }
  | { readonly kind: 'drop'; readonly directions: readonly Direction[] }
  | { readonly kind: 'delay'; ms(): number }
  /** Each connection is reset once so many bytes more came down. */
  | { readonly kind: 'cut'; bytes(): number }
  /** Connections that there are, and new ones, are reset. */
  | { readonly kind: 'refuse' };

/** Sees the bytes of one connection, and returns what goes on. */
export type Watch = Partial<Readonly<Record<Direction, (bytes: Buffer) => Buffer>>>;

/** What happened on the wire, in all. */
export interface ProxyCounts {
  connections: number;
  refused: number;
  reset: number;
  bytesDropped: number;
  chunksDelayed: number;
  chunksHeld: number;
}

const both: readonly Direction[] = ['up', 'down'];

/**
 * Ends the connection with a reset. Where a direction is just being ended, the library below Node.js refuses that, and Node.js would keep the
 * socket open for ever: the process would not end, and turn in circles if it must.
 */
export function resetSocket(socket: Socket): void {
  if (socket.connecting || socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}

/** One connection, with the bytes that are on their way in each direction. */
export class ProxiedConnection {
  readonly client: Socket;
  readonly server: Socket;
  /** Bytes were dropped, so that nothing right can come of the connection any more. */
  isMaimed = false;
  readonly #proxy: { readonly treatment: Treatment; readonly counts: ProxyCounts };
  readonly #watch: Watch;
  readonly #queues: Record<Direction, Promise<void>> = { up: Promise.resolve(), down: Promise.resolve() };
  #own: Treatment | undefined;
  #bytesUntilCut = Number.POSITIVE_INFINITY;
  #resumed = Promise.resolve();
  #resume: (() => void) | undefined;

  constructor(
    [client, server]: readonly [Socket, Socket],
    proxy: { readonly treatment: Treatment; readonly counts: ProxyCounts },
    watchOf: (connection: ProxiedConnection) => Watch,
  ) {
    this.client = client;
    this.server = server;
    this.#proxy = proxy;
    this.#watch = watchOf(this);
    this.#join('up', client, server);
    this.#join('down', server, client);
    client.once('close', () => this.#closed('up', server));
    server.once('close', () => this.#closed('down', client));
  }

  /** From now on it is treated in another way than the other connections. */
  treat(treatment: Treatment | undefined): void {
    this.#own = treatment;
    this.change();
  }

  /** From now on nothing passes, as where a machine on the way has forgotten it. */
  forget(): void {
    this.isMaimed = true;
    this.treat(BLACK_HOLE);
  }

  /** The treatment may be another one now. */
  change(): void {
    const treatment = this.#treatment;
    this.#bytesUntilCut = treatment.kind === 'cut' ? treatment.bytes() : Number.POSITIVE_INFINITY;
    const isHeld = treatment.kind === 'hold';
    if (isHeld === (this.#resume !== undefined)) return;
    this.#resume?.();
    this.#resume = undefined;
    if (isHeld)
      this.#resumed = new Promise((resolve) => {
        this.#resume = resolve;
      });
  }

  /** Ends it for both with a reset, as where a machine on the way has forgotten it. */
  reset(): void {
    if (!this.client.destroyed) this.#proxy.counts.reset += 1;
    for (const socket of [this.client, this.server]) resetSocket(socket);
  }

  get #treatment(): Treatment {
    return this.#own ?? this.#proxy.treatment;
  }

  #join(direction: Direction, from: Socket, to: Socket): void {
    from.on('error', () => {});
    from.on('data', (bytes: Buffer) => {
      if (this.#drops(direction, bytes.length)) return;
      const passed = this.#watch[direction]?.(bytes) ?? bytes;
      if (passed.length > 0) this.#later(direction, () => this.#send(direction, to, passed));
    });
    from.on('end', () => {
      if (!this.#drops(direction, 0)) this.#later(direction, () => to.end());
    });
  }

  #send(direction: Direction, to: Socket, bytes: Buffer): void {
    if (!to.writable) return;
    if (direction === 'up' || bytes.length < this.#bytesUntilCut) {
      if (direction === 'down') this.#bytesUntilCut -= bytes.length;
      to.write(bytes);
      return;
    }
    this.server.destroy();
    to.write(bytes.subarray(0, this.#bytesUntilCut), () => this.reset());
  }

  #drops(direction: Direction, bytes: number): boolean {
    const treatment = this.#treatment;
    if (treatment.kind !== 'drop' || !treatment.directions.includes(direction)) return false;
    this.#proxy.counts.bytesDropped += bytes;
    this.isMaimed = true;
    return true;
  }

  #later(direction: Direction, send: () => unknown): void {
    const treatment = this.#treatment;
    if (treatment.kind === 'hold') this.#proxy.counts.chunksHeld += 1;
    if (treatment.kind === 'delay') this.#proxy.counts.chunksDelayed += 1;
    const until = treatment.kind === 'delay' ? performance.now() + treatment.ms() : 0;
    this.#queues[direction] = this.#queues[direction].then(async () => {
      await this.#resumed;
      const rest = until - performance.now();
      if (rest > 0) await new Promise((resolve) => setTimeout(resolve, rest));
      send();
    });
  }

  #closed(direction: Direction, other: Socket): void {
    if (!this.#drops(direction, 0)) this.#later(direction, () => other.destroy());
  }
}

export interface TcpTarget {
  readonly host: string;
  readonly port: number;
}

/** Stands before a server on loopback. Without a treatment, all passes. */
export class TcpProxy {
  readonly port: number;
  readonly counts: ProxyCounts = {
    connections: 0,
    refused: 0,
    reset: 0,
    bytesDropped: 0,
    chunksDelayed: 0,
    chunksHeld: 0,
  };
  readonly close: () => Promise<void>;
  readonly #open = new Set<ProxiedConnection>();
  readonly #watchOf: (connection: ProxiedConnection) => Watch;
  #target: TcpTarget;
  #treatment: Treatment = { kind: 'pass' };

  private constructor(
    server: ReturnType<typeof createServer>,
    target: TcpTarget,
    watchOf: (connection: ProxiedConnection) => Watch,
  ) {
    this.port = (server.address() as AddressInfo).port; // listening on TCP
    this.#target = target;
    this.#watchOf = watchOf;
    server.on('connection', (client) => this.#connected(client));
    this.close = closedAtEnd(async () => {
      const closed = once(server, 'close');
      server.close();
      this.resetAll();
      await closed;
    });
  }

  static async start(target: TcpTarget, watchOf: (connection: ProxiedConnection) => Watch = () => ({})) {
    // Else Node.js ends the other direction itself where one side has ended its own.
    const server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new TcpProxy(server, target, watchOf);
  }

  /** In front of the server of an address. */
  static before(url: string, watchOf?: (connection: ProxiedConnection) => Watch): Promise<TcpProxy> {
    return TcpProxy.start(targetOf(url), watchOf);
  }

  get treatment(): Treatment {
    return this.#treatment;
  }

  get connections(): readonly ProxiedConnection[] {
    return [...this.#open];
  }

  /** The address with this proxy in front. */
  inFrontOf(url: string): string {
    const own = new URL(url);
    own.hostname = '127.0.0.1';
    own.port = String(this.port);
    return own.href;
  }

  /** From now on all connections are treated so. Those whose bytes were dropped are reset where that ends. */
  treat(treatment: Treatment): void {
    this.#treatment = treatment;
    for (const connection of this.#open) {
      connection.change();
      if (treatment.kind === 'refuse' || (treatment.kind === 'pass' && connection.isMaimed)) connection.reset();
    }
  }

  /** As `treat`, but connections that are made from now on are well. */
  treatOpen(treatment: Treatment): void {
    for (const connection of this.#open) connection.treat(treatment);
  }

  /** All is well again. */
  pass(): void {
    for (const connection of this.#open) connection.treat(undefined);
    this.treat({ kind: 'pass' });
  }

  resetAll(): void {
    for (const connection of this.#open) connection.reset();
  }

  /** Resets all connections. New ones lead to this server. */
  lead(url: string): void {
    this.#target = targetOf(url);
    this.resetAll();
  }

  #connected(client: Socket): void {
    this.counts.connections += 1;
    client.on('error', () => {});
    if (this.#treatment.kind === 'refuse') {
      this.counts.refused += 1;
      resetSocket(client);
      return;
    }
    const server = connect({ ...this.#target, allowHalfOpen: true });
    const connection = new ProxiedConnection([client, server], this, this.#watchOf);
    connection.change();
    this.#open.add(connection);
    const closed = () => client.destroyed && server.destroyed && this.#open.delete(connection);
    client.once('close', closed);
    server.once('close', closed);
  }
}

/** Nothing passes in either direction, and nobody is told. */
export const BLACK_HOLE: Treatment = { kind: 'drop', directions: both };

function targetOf(url: string): TcpTarget {
  const { hostname, port } = new URL(url);
  return { host: hostname, port: Number(port) };
}
