import { type AddressInfo, connect, createServer } from 'node:net';
import { stoppedAtEnd } from './at-end.ts';

export interface StatementsProxy {
  /** Address of the database behind the proxy. */
  readonly url: string;
  /** The statements that went through while the work ran, those that processes ask by themselves left out. */
  during<Result>(work: () => Promise<Result>): Promise<Statements<Result>>;
}

export interface Statements<Result> {
  readonly result: Result;
  readonly texts: readonly string[];
  /** How many times an answer was waited for. */
  readonly roundTrips: number;
}

/** What a process asks while nobody calls it, of the tables of processes and jobs. */
const OWN = /cluster_(?!changes \(process)|graphile_worker|_counts_|pg_stat|erased_records where not|^listen/i;

/** Stands before the database and reads which statements it is sent. */
export async function startStatementsProxy(database: string): Promise<StatementsProxy> {
  const { hostname, port } = new URL(database);
  let texts: string[] = [];
  let trips = 0;
  const server = stoppedAtEnd(
    createServer((client) => {
      const upstream = connect({ host: hostname, port: Number(port) });
      const read = readerOf(
        (text) => texts.push(text),
        () => (trips += 1),
      );
      for (const socket of [client, upstream]) {
        socket.on('error', () => {}).on('close', () => void [client.destroy(), upstream.destroy()]);
      }
      client.on('data', (bytes) => {
        read(bytes);
        upstream.write(bytes);
      });
      upstream.on('data', (bytes) => client.write(bytes));
    }),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(database);
  url.port = String((server.address() as AddressInfo).port); // listening on TCP
  return {
    url: url.href,
    async during(work) {
      [texts, trips] = [[], 0];
      const result = await work();
      return { result, texts: [...texts], roundTrips: trips };
    },
  };
}

/** Reads the messages of one connection: https://www.postgresql.org/docs/15/protocol-message-formats.html */
function readerOf(onStatement: (text: string) => void, onWait: () => void): (bytes: Buffer) => void {
  const prepared = new Map<string, string>();
  let left = Buffer.alloc(0);
  let hasStarted = false;
  /** Whether what was sent since the last wait is a process's own. */
  let isOwn = true;
  const told = (text: string) => {
    if (OWN.test(text)) return;
    isOwn = false;
    onStatement(text);
  };
  const wait = () => {
    if (!isOwn) onWait();
    isOwn = true;
  };
  return (bytes) => {
    left = Buffer.concat([left, bytes]);
    for (;;) {
      const head = hasStarted ? 1 : 0;
      if (left.length < head + 4) return;
      const end = head + left.readInt32BE(head);
      if (left.length < end) return;
      const [kind, fields] = [String.fromCharCode(left[0] ?? 0), left.toString('utf8', head + 4, end).split('\0')];
      if (hasStarted && kind === 'P') prepared.set(fields[0] ?? '', fields[1] ?? '');
      if (hasStarted && kind === 'B') told(prepared.get(fields[1] ?? '') ?? '');
      if (hasStarted && kind === 'Q') told(fields[0] ?? '');
      if (hasStarted && 'QS'.includes(kind)) wait();
      hasStarted = true;
      left = left.subarray(end);
    }
  };
}
