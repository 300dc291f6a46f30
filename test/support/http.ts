import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';

export interface WireRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer | undefined;
  readonly signal?: AbortSignal | undefined;
  /** On a connection of its own, and never sent again: who asks must know whether the server may have heard it. */
  readonly isOnce?: boolean;
}

export interface WireAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Connections are used again, and keep no process alive. */
const agent = new Agent({ keepAlive: true });

/** Hears every answer: `send` is the way of all calls of the tests. */
export const answerListeners = new Set<(url: string, asked: WireRequest, answer: WireAnswer) => void>();

/** As `fetch` names itself. */
const ALWAYS = { Accept: '*/*', 'User-Agent': 'node' };

/**
 * One request, as a plain script sends it, and its whole answer; redirects are not followed. Tests make tens of thousands of calls, and a
 * call by `fetch` takes three times the processor time, the server included.
 */
export function send(url: string, options: WireRequest = {}): Promise<WireAnswer> {
  const { method = 'GET', headers = {}, body, signal, isOnce = false } = options;
  return new Promise((resolve, reject) => {
    const asking = request(
      url,
      {
        method,
        agent: !isOnce && agent,
        headers: { ...ALWAYS, ...lengthOf(body), ...headers },
        ...(signal && { signal }),
      },
      (response) => {
        text(response).then((got) => {
          const received = new Headers();
          for (let at = 0; at < response.rawHeaders.length; at += 2)
            received.append(response.rawHeaders[at] ?? '', response.rawHeaders[at + 1] ?? '');
          const answer = { status: response.statusCode ?? 0, headers: received, text: got };
          for (const listener of answerListeners) listener(url, options, answer);
          resolve(answer);
        }, reject);
      },
    );
    asking.once('error', (error: NodeJS.ErrnoException) => {
      // The server closed the connection before it saw the request.
      const isUnheard = asking.reusedSocket && error.code === 'ECONNRESET';
      if (isUnheard) send(url, options).then(resolve, reject);
      else reject(error);
    });
    asking.end(body);
  });
}

/** Node.js says it of itself for some methods only. */
function lengthOf(body: WireRequest['body']): Record<string, string> {
  return body === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(body)) };
}
