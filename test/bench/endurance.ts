import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import autocannon from 'autocannon';
import { modern, modernHeaders } from '../facade/mcp-requests.ts';
import { startBenchPostgres } from './analytics-postgres.ts';
import { headersFor, KEY, makeCapsule } from './scenarios.ts';
import { cpuTime, prepare, start, stop, tell } from './servers.ts';

/**
 * Millions of mixed requests at all doors of one process, and thousands of open streams. After each part it tells memory after garbage
 * collection, descriptors, the delay of the event loop and the processor time of a request. The audit index grows by 60 bytes an entry, as
 * `buffers`; nothing else may grow. Run with `npx tsx test/bench/endurance.ts embedded` or `postgres`; `BENCH_REQUESTS` and `BENCH_STREAMS`
 * name other numbers. Exits with 1 where the heap or the descriptors grew by more than a tenth.
 */
const REQUESTS = Number(process.env.BENCH_REQUESTS ?? 10_000_000);
const STREAMS = Number(process.env.BENCH_STREAMS ?? 10_000);
const PARTS = 20;
const AGENTS = 1000;
const CONNECTIONS = 64;
const STREAMS_OF_A_KEY = 100;
const MOST_GROWTH = 1.1;

const database = process.argv[2] === 'postgres' ? await startBenchPostgres() : undefined;
await prepare();
process.execArgv.push('--expose-gc');
const environment = {
  RATE_LIMIT_PER_MINUTE: '0',
  ...(database && {
    DATABASE_URL: database.url,
    SECRETS_KEY: Buffer.alloc(32, 1).toString('base64'),
    BASE_URL: 'http://bench.example',
  }),
};
const subject = await start('subject', String(AGENTS), KEY, JSON.stringify(environment));
const capsule = await makeCapsule(subject);

interface Chained {
  id?: string;
  n?: number;
}
let made = 0;
let wrong = 0;

const mcp = (method: string, params?: object) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
const call = (name: string, input: object) => mcp('tools/call', { name, arguments: input });
const headers = headersFor({});

function request(method: string, path: string, expected: number, body?: string, token = KEY): autocannon.Request {
  return {
    method: method as 'GET', // autocannon's type lists the others too
    path,
    headers: { ...headers, authorization: `Bearer ${token}` },
    ...(body !== undefined && { body }),
    onResponse: (status) => {
      if (status !== expected) refused(`${method} ${path}`, status);
    },
  };
}

function refused(what: string, status: number): void {
  wrong += 1;
  if (wrong < 20) console.log(`${what} answered ${status}`);
}

/** A skill that is made, read, changed and deleted, each with the id of the one before. */
const chain: autocannon.Request[] = [
  {
    ...request('POST', '/api/v1/agents/skills', 201),
    setupRequest: (one) => {
      made += 1;
      return { ...one, body: JSON.stringify({ name: `skill ${made}`, instructions: 'x'.repeat(200) }) };
    },
    onResponse: (status, body, context) => {
      if (status !== 201) refused('create', status);
      else (context as Chained).id = JSON.parse(body).id;
    },
  },
  ...(['GET', 'PUT', 'DELETE'] as const).map(
    (method): autocannon.Request => ({
      ...request(method, '', method === 'DELETE' ? 200 : 200),
      setupRequest: (one, context) => ({
        ...one,
        path: `/api/v1/agents/skills/${(context as Chained).id}`,
        ...(method === 'PUT' && { body: JSON.stringify({ instructions: 'y'.repeat(200) }) }),
      }),
    }),
  ),
];
const inCapsule = `/api/capsules/${capsule.id}/mcp`;
const requests: autocannon.Request[] = [
  request('GET', `/api/v1/agents/${subject.id}`, 200),
  request('GET', '/api/v1/agents?status=paused&limit=10', 200),
  request('POST', '/api/v1/mcp', 200, call('get_agent', { id: subject.id })),
  request('POST', '/api/v1/mcp', 200, call('list_agents', { limit: 5 })),
  request('POST', '/api/v1/mcp', 200, call('search', { q: 'agent 77', limit: 3 })),
  request('POST', '/api/v1/mcp', 200, call('search_tools', { q: 'post to slack' })),
  request('POST', '/api/v1/mcp', 200, call('get_agent', { id: 'agt_none' })),
  request('POST', '/api/v1/mcp?tools=get_agent', 200, mcp('tools/list')),
  request('POST', '/api/v1/mcp', 200, call('update_agent', { id: subject.id, description: 'changed' })),
  request('POST', inCapsule, 200, call('get_agent', {}), capsule.token),
  request('POST', inCapsule, 200, mcp('tools/list'), capsule.token),
  request('POST', inCapsule, 401, mcp('tools/list'), 'cap_wrong'),
  request('GET', '/api/v1/agents', 401, undefined, 'ak_wrong'),
  request('GET', '/api/v1/agents/agt_none', 404),
  request('POST', '/api/v1/agents', 400, '{"name":1}'),
  request('GET', '/health', 200),
  request('GET', '/.well-known/oauth-protected-resource/api/v1/mcp', 200),
  ...chain,
];

async function part(amount: number) {
  const before = await cpuTime(subject);
  const {
    latency,
    requests: sent,
    errors,
  } = await autocannon({
    url: subject.baseUrl,
    connections: CONNECTIONS,
    amount,
    requests,
    timeout: 60,
  });
  const cpuUs = Math.round(((await cpuTime(subject)) - before) / sent.total);
  return { 'requests/s': Math.round(sent.average), p99: latency.p99, errors, cpuUs };
}

async function health(): Promise<Record<string, number>> {
  return (await tell(subject, 'health')) as Record<string, number>; // as the subject answers
}

/** Opens the streams of so many keys and waits until each has said something. */
async function openStreams(): Promise<Socket[]> {
  const { hostname, port } = new URL(subject.baseUrl);
  const open: Socket[] = [];
  let token = KEY;
  for (let n = 0; n < STREAMS; n += 1) {
    if (n % STREAMS_OF_A_KEY === 0) {
      const answer = await fetch(`${subject.baseUrl}/api/v1/mcp`, {
        method: 'POST',
        headers,
        body: call('create_api_key', { name: `stream ${n}`, scopes: ['agents:read'] }),
      });
      token = ((await answer.json()) as { result: { structuredContent: { secret: string } } }).result.structuredContent
        .secret; // as the tool declares it
    }
    const body = JSON.stringify(modern('subscriptions/listen', { notifications: { toolsListChanged: true } }));
    const lines = {
      host: hostname,
      authorization: `Bearer ${token}`,
      ...modernHeaders('subscriptions/listen'),
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'content-length': String(Buffer.byteLength(body)),
    };
    const socket = connect(Number(port), hostname);
    const head = Object.entries(lines).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`POST /api/v1/mcp HTTP/1.1\r\n${head.join('')}\r\n${body}`);
    const [first] = await once(socket, 'data');
    if (!/^HTTP\/1.1 200/.test(String(first))) throw new Error(String(first));
    socket.resume();
    open.push(socket);
  }
  return open;
}

await part(20_000);
const told: Record<string, number>[] = [{ requests: 0, ...(await health()) }];
for (let n = 1; n <= PARTS; n += 1) {
  const figures = await part(REQUESTS / PARTS);
  const row = { requests: (REQUESTS / PARTS) * n, ...figures, ...(await health()) };
  console.log(JSON.stringify(row));
  told.push(row);
}
console.table(told);

const began = performance.now();
const streams = await openStreams();
const opened = await health();
const beside = await part(100_000);
console.table({
  [`${STREAMS} streams open, after ${Math.round(performance.now() - began)} ms`]: opened,
  'requests beside them': { ...beside, ...(await health()) },
});
const ended = streams.filter(({ destroyed, readableEnded }) => destroyed || readableEnded).length;
for (const stream of streams) stream.destroy();
await part(10_000);
const after = await health();
console.table({ 'after they left': after });

const first = told[2] ?? {};
const last = told.at(-1) ?? {};
const grew = (name: string, from = first, to = last) => (to[name] ?? 0) > (from[name] ?? 0) * MOST_GROWTH;
const problems = [
  wrong > 0 && `${wrong} requests were answered otherwise than expected`,
  ended > 0 && `${ended} streams ended by themselves`,
  grew('heap') && 'the heap grew',
  grew('descriptors') && 'descriptors grew',
  grew('descriptors', last, after) && 'descriptors of streams were kept',
].filter(Boolean);
console.log(problems.length ? problems.join('; ') : 'Nothing grew.');
await stop(subject);
await database?.stop();
process.exit(problems.length ? 1 : 0);
