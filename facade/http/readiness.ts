import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Store } from '../../store/port.ts';
import { ToolError } from '../../tools/core/errors.ts';
import type { OpenEndpoint } from './endpoint.ts';
import { requestIdOf } from './native-prototypes.ts';
import { sendError } from './respond.ts';

const PATH = '/readyz';
/** Strangers are not told what. */
const DAMAGED = 'degraded: data are damaged; get_system_health says what, and how to recover\n';

/**
 * Whether a load balancer should send calls here, at `GET /readyz`: 200 or 503, without credentials, and without a body unless data are
 * damaged. It asks nobody, so a probe costs nothing and tells strangers no more than an attempt to call would.
 */
export class Readiness {
  #isServing = false;
  readonly #store: Pick<Store, 'status'>;

  constructor(store: Pick<Store, 'status'>) {
    this.#store = store;
  }

  /** All parts of the server are there. */
  begin(): void {
    this.#isServing = true;
  }

  /** The server is about to end. */
  leave(): void {
    this.#isServing = false;
  }

  readonly endpoint: OpenEndpoint = {
    open: true,
    method: 'GET',
    path: PATH,
    serve: (_, response) => {
      const { writable, damage } = this.#store.status();
      answer(response, this.#isServing && writable, damage === undefined ? '' : DAMAGED);
    },
  };
}

/** A start takes a second or a few. */
const SOON_SECONDS = 1;
const STARTING = new ToolError('unavailable', 'The server is starting; ask again soon.', {
  retryAfterSeconds: SOON_SECONDS,
});

/** Answers every request before the server can judge who calls: nothing is said about credentials and paths. */
export function answerBeforeStart({ url }: IncomingMessage, response: ServerResponse): void {
  if (url === PATH) answer(response.setHeader('Retry-After', SOON_SECONDS), false);
  else sendError(response, STARTING, requestIdOf(response));
}

function answer(response: ServerResponse, isReady: boolean, text = ''): void {
  response.writeHead(isReady ? 200 : 503, { 'Content-Length': String(text.length), 'Cache-Control': 'no-store' });
  response.end(text);
}
