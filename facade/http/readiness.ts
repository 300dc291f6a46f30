import type { ServerResponse } from 'node:http';
import type { Store } from '../../store/port.ts';
import type { Endpoint } from './request-context.ts';

export const READY_PATH = '/readyz';
/** Strangers are not told what. */
const DAMAGED = 'degraded: data are damaged; get_system_health says what, and how to recover\n';

/** `GET /readyz` for load balancers: 200 or 503, without credentials and without asking anybody, so that a probe costs nothing. */
export class Readiness {
  #isServing = false;
  readonly #store: Pick<Store, 'status'>;

  constructor(store: Pick<Store, 'status'>) {
    this.#store = store;
  }

  begin(): void {
    this.#isServing = true;
  }

  leave(): void {
    this.#isServing = false;
  }

  readonly endpoint: Endpoint = {
    open: true,
    method: 'GET',
    path: READY_PATH,
    serve: ({ response }) => {
      const { writable, damage } = this.#store.status();
      sendReadiness(response, this.#isServing && writable, damage === undefined ? '' : DAMAGED);
    },
  };
}

export function sendReadiness(response: ServerResponse, isReady: boolean, text = ''): void {
  response.writeHead(isReady ? 200 : 503, { 'Content-Length': String(text.length), 'Cache-Control': 'no-store' });
  response.end(text);
}
