import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import autocannon from 'autocannon';
import { quantile } from './timing.ts';

/**
 * How long one caller waits for short answers while eight others send heavy bodies without a pause: far more members than are accepted, just
 * as many as are, and imports of the largest rows. The figure is the ratio of its 99th percentile to what it is alone, in alternating
 * rounds; the times are this machine's.
 */
const KEY = `ak_bench000_${'b'.repeat(43)}`;
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3);
const SECONDS = Number(process.env.BENCH_SECONDS ?? 4);
const CALLERS = 8;

const child = start('subject.ts', '1000', KEY);
const attacker = start('attacker.ts');
const [{ baseUrl, id }] = await once(child, 'message');
const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };

const reader = await refusedKey();
const objectOf = (count: number) => `{${Array.from({ length: count }, (_, at) => `"${at.toString(36)}":1`).join(',')}}`;
const members = objectOf(380_000);
const most = objectOf(9900);
const properties = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`property ${at}`, at]));
const rows = Array.from({ length: 1000 }, (_, at) => ({
  id: `event ${at}`,
  name: 'opened',
  uid: 'somebody',
  at: '2026-01-01T00:00:00Z',
  properties,
}));
const nested = '['.repeat(400_000) + ']'.repeat(400_000);
const call = (value: string, tool = 'create_skill') =>
  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${tool}","arguments":${value}}}`;
const skills = '/api/v1/agents/skills';

const scenarios = [
  { name: 'members, REST', path: skills, token: KEY, body: members },
  { name: 'members, MCP', path: '/api/v1/mcp', token: KEY, body: call(members) },
  { name: 'members, refused key, REST', path: skills, token: reader, body: members },
  { name: 'members, refused key, MCP', path: '/api/v1/mcp', token: reader, body: call(members) },
  { name: 'members, gzip, MCP', path: '/api/v1/mcp', token: reader, body: gzipSync(call(members)) },
  { name: 'most members, REST', path: skills, token: KEY, body: most },
  { name: 'most members, MCP', path: '/api/v1/mcp', token: KEY, body: call(most) },
  { name: 'most members, bulk, MCP', path: '/api/v1/mcp', token: KEY, body: call(objectOf(59_900), 'import_records') },
  {
    name: 'largest import, MCP',
    path: '/api/v1/mcp',
    token: KEY,
    body: call(JSON.stringify({ type: 'events', records: rows }), 'import_records'),
  },
  { name: 'brackets, REST', path: skills, token: KEY, body: `{"a":${nested}}` },
];

for (const scenario of scenarios) {
  const alone: number[] = [];
  const beside: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    alone.push(await p99());
    const stop = await attack(scenario);
    beside.push(await p99());
    await stop();
  }
  const [without, among] = [quantile(alone), quantile(beside)];
  const ratio = Math.round((among / without) * 100) / 100;
  console.log(JSON.stringify({ scenario: scenario.name, 'alone p99 ms': without, 'p99 ms': among, ratio }));
}
attacker.disconnect();
child.send('stop');
await once(child, 'exit');

async function p99(): Promise<number> {
  const { latency, non2xx, errors } = await autocannon({
    url: `${baseUrl}/api/v1/agents/${id}`,
    connections: 16,
    duration: SECONDS,
    headers,
  });
  if (non2xx > 0 || errors > 0) throw new Error(`${non2xx} refused, ${errors} failed`);
  return latency.p99;
}

/** Sends the body from eight callers at a time until it is stopped. */
async function attack({ path, token, body }: (typeof scenarios)[number]): Promise<() => Promise<void>> {
  const zipped = Buffer.isBuffer(body) && { 'content-encoding': 'gzip' };
  const sent = { ...headers, authorization: `Bearer ${token}`, ...zipped };
  const bytes = Buffer.from(body).toString('base64');
  attacker.send({ url: `${baseUrl}${path}`, headers: sent, body: bytes, callers: CALLERS });
  await once(attacker, 'message');
  return async () => {
    attacker.send('stop');
    await once(attacker, 'message');
  };
}

async function refusedKey(): Promise<string> {
  const params = { name: 'create_api_key', arguments: { name: 'reader', scopes: ['read'] } };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
  const answer = await fetch(`${baseUrl}/api/v1/mcp`, { method: 'POST', headers, body });
  const { result } = (await answer.json()) as { result: { structuredContent: { secret: string } } }; // as the tool declares it
  return result.structuredContent.secret;
}

function start(file: string, ...args: string[]): ChildProcess {
  return fork(fileURLToPath(new URL(file, import.meta.url)), args, { execArgv: ['--import', 'tsx'] });
}
