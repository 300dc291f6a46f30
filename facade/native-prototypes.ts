import { createServer, IncomingMessage, type Server, ServerResponse } from 'node:http';
import type { Express } from 'express';

/**
 * An HTTP server whose requests and responses have Express's prototypes from birth. Express otherwise sets the prototype of both on
 * every request, which costs more than all the rest of a short call. It leans on `app.request` and `app.response`, to which Express
 * sets each request and response: setting an object's prototype to what it has already is free.
 * test/facade/native-prototypes.test.ts says when that stops being so.
 */
export function createNativeServer(): { readonly server: Server; mount(app: Express): void } {
  class AppRequest extends IncomingMessage {}
  class AppResponse extends ServerResponse {}
  // A request without Host is refused by our guards, in the words and with the body of all refusals.
  const server = createServer({
    IncomingMessage: AppRequest,
    ServerResponse: AppResponse,
    requireHostHeader: false,
  });
  return {
    server,
    mount(app) {
      // Express's own prototypes inherit from Node's, so putting them above ours keeps both.
      Object.setPrototypeOf(AppRequest.prototype, app.request);
      Object.setPrototypeOf(AppResponse.prototype, app.response);
      app.request = AppRequest.prototype as unknown as Express['request']; // which they inherit from
      app.response = AppResponse.prototype as unknown as Express['response'];
      server.on('request', app);
      server.on('checkExpectation', app); // else Node refuses what it does not know, without a body
    },
  };
}
