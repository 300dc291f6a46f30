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
import type { OnUncaught } from './answer-errors.ts';
import { RequestContext } from './request-context.ts';

interface NativeServer {
  readonly server: Server;
  mount(app: Express, answer?: RequestListener, onUncaught?: OnUncaught): void;
}

/**
 * A server whose requests and responses have Express's prototypes from birth: 92 µs a short call instead of 208, as setting a prototype
 * to what it is costs nothing. test/facade/native-prototypes.test.ts says when that ends. Until an app is mounted, `answer` answers.
 */
export function createNativeServer(answer: RequestListener, onUncaught: OnUncaught): NativeServer {
  class AppRequest extends IncomingMessage {}
  class AppResponse<Request extends IncomingMessage> extends ServerResponse<Request> {
    readonly context = new RequestContext(this.req, this);

    /** Every head gets the id, whichever code writes it. Node writes a flat array of names and values without checking it again. */
    override writeHead(status: number, ...rest: HeadArguments): this {
      const headers = rest.at(-1);
      if (Array.isArray(headers)) headers.push('X-Request-Id', this.context.requestId);
      else this.setHeader('X-Request-Id', this.context.requestId);
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
      answer(request, response);
    } catch (error) {
      onUncaught(error, response);
    }
  };
  server.on('request', serve);
  server.on('checkExpectation', serve); // otherwise Node refuses an unknown expectation without a body
  return {
    server,
    mount(app, mounted = app, uncaught = onUncaught) {
      // Express's own prototypes inherit from Node's, so ours inherit from both.
      Object.setPrototypeOf(AppRequest.prototype, app.request);
      Object.setPrototypeOf(AppResponse.prototype, app.response);
      Object.assign(app, { request: AppRequest.prototype, response: AppResponse.prototype });
      answer = mounted;
      onUncaught = uncaught;
    },
  };
}

type Headers = OutgoingHttpHeaders | OutgoingHttpHeader[];
type HeadArguments = [reason?: string | undefined, headers?: Headers | undefined] | [headers?: Headers | undefined];
