import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import {
  createServer,
  IncomingMessage,
  type OutgoingHttpHeader,
  type OutgoingHttpHeaders,
  type RequestListener,
  type Server,
  ServerResponse,
} from 'node:http';
import type { Express } from 'express';

interface NativeServer {
  readonly server: Server;
  mount(app: Express, answer?: RequestListener): void;
}

/**
 * An HTTP server whose requests and responses have Express's prototypes from birth. Express otherwise sets the prototype of both on
 * every request, which costs more than all the rest of a short call. It leans on `app.request` and `app.response`, to which Express
 * sets each request and response: setting an object's prototype to what it has already is free.
 * test/facade/native-prototypes.test.ts says when that stops being so. Until an app is mounted, `answer` answers every request.
 * `onUncaught` gets what an answer throws.
 */
export function createNativeServer(
  answer: RequestListener,
  onUncaught: (error: unknown, response: ServerResponse) => void,
): NativeServer {
  class AppRequest extends IncomingMessage {}
  class AppResponse<Request extends IncomingMessage> extends ServerResponse<Request> {
    readonly requestId = chooseRequestId(this.req);

    /** Every head gets the id, whichever code writes it. Node writes a flat array of names and values without checking it again. */
    override writeHead(status: number, ...rest: HeadArguments): this {
      const headers = rest.at(-1);
      if (Array.isArray(headers)) headers.push('X-Request-Id', this.requestId);
      else this.setHeader('X-Request-Id', this.requestId);
      return super.writeHead(status, ...(rest as [OutgoingHttpHeaders])); // the arguments as they were given
    }
  }
  // Our guards refuse a request without Host, in the same form as all refusals.
  const server = createServer({
    IncomingMessage: AppRequest,
    ServerResponse: AppResponse,
    requireHostHeader: false,
  });
  const serve: RequestListener = (request, response) => {
    try {
      answered.run(requestIdOf(response), answer, request, response);
    } catch (error) {
      onUncaught(error, response);
    }
  };
  server.on('request', serve);
  server.on('checkExpectation', serve); // otherwise Node refuses an unknown expectation without a body
  return {
    server,
    mount(app, mounted = app) {
      // Express's own prototypes inherit from Node's, so ours inherit from both.
      Object.setPrototypeOf(AppRequest.prototype, app.request);
      Object.setPrototypeOf(AppResponse.prototype, app.response);
      Object.assign(app, { request: AppRequest.prototype, response: AppResponse.prototype });
      answer = mounted;
    },
  };
}

type Headers = OutgoingHttpHeaders | OutgoingHttpHeader[];
type HeadArguments = [reason?: string | undefined, headers?: Headers | undefined] | [headers?: Headers | undefined];

/** The id of the request that the response answers. */
export function requestIdOf(response: ServerResponse): string {
  if ('requestId' in response && typeof response.requestId === 'string') return response.requestId;
  throw new Error('The response was not made by the server of createNativeServer.');
}

/** The request that the running code belongs to, also after its answer. */
const answered = new AsyncLocalStorage<string>();

export function currentRequestId(): string | undefined {
  return answered.getStore();
}

/** The id of a request is kept if it is short and plain, so that it can be searched for in logs. */
function chooseRequestId({ headers }: IncomingMessage): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && /^[\w.:-]{1,128}$/.test(given) ? given : randomUUID();
}
