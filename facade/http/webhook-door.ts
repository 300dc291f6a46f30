import type { IncomingMessage, ServerResponse } from 'node:http';
import { errorStatus } from '../../resources/error.ts';
import type { Cluster } from '../../store/cluster-port.ts';
import { anonymous } from '../../tools/core/access/principal.ts';
import { createRateLimit, type RateLimit } from '../../tools/core/access/rate-limit.ts';
import { ToolError, toToolError } from '../../tools/core/errors.ts';
import type { Reply, WebhookReceiver } from '../../tools/flows/inbound/receiver.ts';
import { type HeaderOf, SIGNATURE_HEADERS } from '../../tools/flows/inbound/schemes.ts';
import { networkOf } from '../../tools/sign-in/attempts.ts';
import type { Authenticator } from './authenticate.ts';
import { type BodyKind, readBody } from './body.ts';
import type { Connections } from './connections.ts';
import type { Guards } from './guards.ts';
import type { Middleware } from './middleware.ts';
import type { RefusedRequests } from './refused-requests.ts';
import type { RequestContext } from './request-context.ts';
import { sendErrorBody, sendJson } from './respond.ts';

/** Of one network, before anything is computed with what it sent. */
export const MOST_A_MINUTE = 600;

/** The input of a run is smaller; a form is longer than what it holds. The signature decides first, then the type. */
export const SIGNED_BODY: BodyKind = { largest: 1024 * 1024, requireType: () => {} };

interface WebhookDoorOptions {
  readonly receiver: WebhookReceiver;
  readonly guards: Guards;
  readonly refused: RefusedRequests;
  readonly authenticator: Pick<Authenticator, 'refusal'>;
  readonly connections: Pick<Connections, 'admit'>;
  readonly cluster: Cluster | undefined;
}

/** Lets in whoever signs a request with the secret of the flow that it is for. Everybody else is answered as if there were no such flow. */
export class WebhookDoor {
  readonly #options: WebhookDoorOptions;
  readonly #limit: RateLimit;

  constructor(options: WebhookDoorOptions) {
    this.#options = options;
    this.#limit = createRateLimit(MOST_A_MINUTE, 'deliveries', { cluster: options.cluster });
  }

  close(): Promise<void> {
    return this.#options.receiver.close();
  }

  readonly serve: Middleware = (context, next) => (isSigned(context) ? this.#serve(context) : next());

  /** @throws ToolError */
  async #serve(context: RequestContext): Promise<void> {
    const { refused, connections } = this.#options;
    try {
      const reply = await this.#receive(context);
      connections.admit(context.request);
      send(context.response, reply);
    } catch (refusal) {
      const { code } = toToolError(refusal);
      if (errorStatus[code] < 500) refused.count(context.address, code);
      throw refusal;
    }
  }

  async #receive({ request, requestId, address, parameters: { id: flowId = '' } }: RequestContext): Promise<Reply> {
    const { receiver, guards, authenticator } = this.#options;
    guards.check(request, false);
    await this.#limit(networkOf(address));
    if (request.headers['content-encoding'] !== undefined) {
      throw new ToolError('unsupported_media_type', 'A signed body has no Content-Encoding; send it as it was signed.');
    }
    const body = await readBody({ request, principal: anonymous(address) }, SIGNED_BODY);
    const reply = await receiver.receive({ flowId, header: headersOf(request), body, requestId });
    if (!reply) throw authenticator.refusal(request);
    return reply;
  }
}

/** Whether the request shows a signature and no bearer token, which alone would count. */
function isSigned({ endpoint, request: { headers } }: RequestContext): boolean {
  if (!endpoint?.webhook || /^bearer\b/i.test(headers.authorization ?? '')) return false;
  return SIGNATURE_HEADERS.some(({ name }) => headers[name] !== undefined);
}

function headersOf({ headersDistinct }: IncomingMessage): HeaderOf {
  return (name) => {
    const [value, ...others] = headersDistinct[name] ?? [];
    return others.length === 0 ? value : undefined;
  };
}

function send(response: ServerResponse, reply: Reply): void {
  if ('error' in reply) sendErrorBody(response, reply.error);
  else if (reply.body) sendJson(response, reply.status, reply.body);
  else response.writeHead(reply.status, { 'Cache-Control': 'no-store', 'Content-Length': '0' }).end();
}
