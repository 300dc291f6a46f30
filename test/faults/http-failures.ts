import { STATUS_CODES } from 'node:http';
import type { ProxiedConnection, Watch } from '../support/tcp-proxy.ts';

/** Answers in place of an HTTP server, with a status. */
export class HttpFailures {
  /** Undefined: the server answers itself. */
  status: number | undefined;
  /** How many requests were answered so. */
  count = 0;

  readonly watch = ({ client, server }: ProxiedConnection): Watch => ({
    up: (bytes) => {
      if (this.status === undefined) return bytes;
      this.count += 1;
      const head = `HTTP/1.1 ${this.status} ${STATUS_CODES[this.status]}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`;
      client.end(head);
      server.destroy();
      return Buffer.alloc(0);
    },
  });
}
