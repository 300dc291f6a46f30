import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { measureRequests } from '../../facade/http/observed-request.ts';
import { type Endpoint, RequestContext } from '../../facade/http/request-context.ts';
import { Telemetry } from '../../tools/core/telemetry/telemetry.ts';

const TIMES = 200_000;
const ROUNDS = 5;

/**
 * The processor time, in microseconds, that measuring adds to a call where nothing is traced: its request, its message, its tool and the questions
 * whether there is a span around it. By itself it can be told to a hundredth of what a busy machine adds to whole calls.
 */
export function timeOfMeasuring(): number {
  const telemetry = new Telemetry({ toolNames: ['get_agent'] });
  const measure = measureRequests(telemetry);
  const request = new IncomingMessage(new Socket());
  request.method = 'POST';
  const endpoint: Endpoint = { method: 'POST', path: '/api/v1/mcp', serve() {} };
  const call = { door: 'mcp', requestId: 'r', principal: { type: 'api-key' } };
  const answer = Promise.resolve({ ok: true as const });
  const message = telemetry.measures.messageSeconds.point('tools/call', '');
  const rounds = Array.from({ length: ROUNDS }, () => {
    const [bare, measured] = [responses(request), contexts(request, endpoint)];
    const without = cpuOf(() => {
      for (const response of bare) response.emit('close');
    });
    const withIt = cpuOf(() => {
      for (const context of measured) {
        const begun = performance.now();
        void measure(context, () => {});
        void telemetry.call(call, 'get_agent', () => answer);
        telemetry.called('get_agent', 'mcp', undefined, begun);
        message.record((performance.now() - begun) / 1000);
        context.response.emit('close');
      }
    });
    return (withIt - without) / TIMES;
  });
  return rounds.sort((one, other) => one - other)[Math.floor(ROUNDS / 2)] ?? 0;
}

function responses(request: IncomingMessage): ServerResponse[] {
  return Array.from({ length: TIMES }, () => new ServerResponse(request));
}

function contexts(request: IncomingMessage, endpoint: Endpoint): RequestContext[] {
  return responses(request).map((response) => Object.assign(new RequestContext(request, response), { endpoint }));
}

function cpuOf(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}
