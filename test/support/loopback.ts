import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { closedAtEnd } from './at-end.ts';

export interface OnLoopback {
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  /** Closes its connections too. */
  readonly close: () => Promise<void>;
}

/** Has the server listen on loopback until it is closed, or the tests of the file are over. */
export async function onLoopback(server: Server): Promise<OnLoopback> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const close = closedAtEnd(async () => {
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  });
  const { port } = server.address() as AddressInfo; // listening on TCP
  return { url: `http://127.0.0.1:${port}`, close };
}
