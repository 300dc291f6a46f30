import assert from 'node:assert/strict';
import { Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { FastPath } from '../../facade/mcp/fast-path.ts';
import { rounds } from '../support/full.ts';
import { randomFrom } from '../support/random.ts';
import { type RandomRequest, RandomRequests } from './mcp-random-requests.ts';
import { eventsIn, legacy, post } from './mcp-requests.ts';
import { type McpTestServer, startMcpServer } from './mcp-server.ts';

const SEED = Number(process.env.MCP_SEED ?? Math.floor(Math.random() * 2 ** 32));
const REQUESTS = Number(process.env.MCP_REQUESTS ?? rounds(1000, 12_000));
const LANES = 16;
/** Share of the requests that must have taken the direct path, or the test compares the SDK with itself. */
const LEAST_DIRECT = 0.25;

const comparedHeaders =
  'content-type cache-control x-request-id idempotency-replayed mcp-session-id allow x-content-type-options'.split(' ');

describe('the direct path', () => {
  let server: McpTestServer;
  const agentIds = ['agt_none'];
  const agent = new Agent({ keepAlive: true, maxSockets: 2 * LANES });
  const { serve } = FastPath.prototype;
  let direct = 0;

  before(async () => {
    server = await startMcpServer();
    for (const name of ['ada', 'bob']) {
      const { body } = await post(
        server.url,
        legacy('tools/call', { name: 'create_agent', arguments: { name, displayName: name } }),
      );
      agentIds.push(body.result.structuredContent.id);
    }
    FastPath.prototype.serve = function (...asked) {
      const served = serve.apply(this, asked);
      if (served) direct += 1;
      return served;
    };
  });

  after(async () => {
    FastPath.prototype.serve = serve;
    agent.destroy();
    await server.close();
  });

  it('answers what the SDK answers', async (test) => {
    test.diagnostic(`MCP_SEED=${SEED}`);
    const requests = new RandomRequests(randomFrom(SEED), agentIds);
    const statuses = new Map<number, number>();
    let left = REQUESTS;

    async function lane(): Promise<void> {
      while (left-- > 0) {
        const asked = requests.next();
        const [one, other] = await Promise.all([send(server.url, asked), send(server.sdkUrl, asked)]);
        assert.deepEqual(one, other, `MCP_SEED=${SEED} ${JSON.stringify(asked)}`);
        assert.ok(one.status < 500, `MCP_SEED=${SEED} ${JSON.stringify(asked)}`);
        statuses.set(one.status, (statuses.get(one.status) ?? 0) + 1);
      }
    }

    await Promise.all(Array.from({ length: LANES }, lane));
    test.diagnostic(`${direct} of ${REQUESTS} direct, statuses ${JSON.stringify(Object.fromEntries(statuses))}`);
    assert.ok(direct >= LEAST_DIRECT * REQUESTS, `MCP_SEED=${SEED}: only ${direct} of ${REQUESTS} were direct`);
  });

  interface Compared {
    readonly status: number;
    readonly headers: readonly unknown[];
    readonly body: unknown;
  }

  function send(url: string, { token, query, headers, body }: RandomRequest): Promise<Compared> {
    const sent = { ...headers, Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
    return new Promise((resolve, reject) => {
      const request = httpRequest(
        url + query,
        { method: 'POST', agent, headers: sent, timeout: 60_000 },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('error', reject);
          response.on('end', () => {
            const { statusCode = 0, headers } = response;
            const compared = comparedHeaders.map((name) => headers[name]);
            resolve({ status: statusCode, headers: compared, body: bodyOf(headers, Buffer.concat(chunks).toString()) });
          });
        },
      );
      request.on('timeout', () => request.destroy(new Error('no answer')));
      request.on('error', reject);
      request.end(body);
    });
  }
});

function bodyOf(headers: IncomingHttpHeaders, text: string): unknown {
  if (headers['content-type'] === 'text/event-stream') return eventsIn(text);
  return text === '' ? text : JSON.parse(text);
}
