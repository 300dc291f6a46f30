import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import autocannon from 'autocannon';

/**
 * Requests per second of the server beside bare Express routes that answer the same bytes, in alternating rounds of one run. The ratio
 * to the baseline is the figure; the absolute numbers are this machine's.
 */
const KEY = `ak_bench000_${'b'.repeat(43)}`;
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3);
const SECONDS = Number(process.env.BENCH_SECONDS ?? 4);
const SIZES = [1_000, 100_000];

interface Subject {
  readonly baseUrl: string;
  readonly id: string;
  readonly openMs: number;
  readonly child: ChildProcess;
}

interface Scenario {
  readonly name: string;
  readonly connections: number;
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** The body of the nth request. */
  readonly body?: (n: number) => object;
}

const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
const rpc = (method: string, params?: object) => () => ({ jsonrpc: '2.0', id: 1, method, ...(params && { params }) });

function reads({ id }: Subject): Scenario[] {
  const mcp = { connections: 64, method: 'POST', path: '/api/v1/mcp' } as const;
  const get = { connections: 64, method: 'GET' } as const;
  return [
    { ...mcp, name: 'tools/call get_agent', body: rpc('tools/call', { name: 'get_agent', arguments: { id } }) },
    { ...mcp, name: 'tools/list', body: rpc('tools/list') },
    { ...get, name: 'GET /api/v1/agents/{id}', path: `/api/v1/agents/${id}` },
    { ...get, name: 'GET /api/v1/agents?status=paused', path: '/api/v1/agents?status=paused' },
  ];
}

function writes(run: string): Scenario[] {
  return [1, 16, 64].map((connections) => ({
    name: `POST /api/v1/agents/skills, ${connections} callers`,
    connections,
    method: 'POST',
    path: '/api/v1/agents/skills',
    body: (n) => ({ name: `${run} ${connections} ${n}`, instructions: 'x'.repeat(200) }),
  }));
}

let made = 0;

function nextBody(body: (n: number) => object): string {
  made += 1;
  return JSON.stringify(body(made));
}

function freshBodies(body: (n: number) => object) {
  return { setupRequest: (request: autocannon.Request) => ({ ...request, body: nextBody(body) }) };
}

/** Requests per second, and the median latency in milliseconds. */
async function load(baseUrl: string, scenario: Scenario): Promise<{ rate: number; p50: number }> {
  const result = await autocannon({
    url: baseUrl,
    connections: scenario.connections,
    duration: SECONDS,
    requests: [
      {
        method: scenario.method,
        path: scenario.path,
        headers,
        ...(scenario.body &&
          (scenario.body.length === 0 ? { body: nextBody(scenario.body) } : freshBodies(scenario.body))),
      },
    ],
  });
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${scenario.name}: ${result.non2xx} refused, ${result.errors} failed`);
  return { rate: result.requests.average, p50: result.latency.p50 };
}

async function measure(subject: Subject, baseline: Subject, scenario: Scenario) {
  const response = await fetch(subject.baseUrl + scenario.path, {
    method: scenario.method,
    headers,
    ...(scenario.body && { body: nextBody(scenario.body) }),
  });
  const key = `${scenario.method} ${scenario.path.split('?')[0]}`;
  baseline.child.send({ key, body: await response.json() });
  await once(baseline.child, 'message');
  const [ours, theirs] = [[], []] as { rate: number; p50: number }[][];
  for (let round = 0; round < ROUNDS; round += 1) {
    ours?.push(await load(subject.baseUrl, scenario));
    theirs?.push(await load(baseline.baseUrl, scenario));
  }
  return { ours: middle(ours ?? []), theirs: middle(theirs ?? []) };
}

function middle(results: readonly { rate: number; p50: number }[]) {
  const sorted = [...results].sort((a, b) => a.rate - b.rate);
  return sorted[Math.floor(sorted.length / 2)] ?? { rate: 0, p50: 0 };
}

async function start(file: string, ...args: string[]): Promise<Subject> {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), args, { execArgv: ['--import', 'tsx'] });
  const [facts] = await once(child, 'message');
  return { ...facts, child };
}

const baseline = await start('baseline.ts');
const rows: Record<string, unknown>[] = [];
for (const size of SIZES) {
  const subject = await start('subject.ts', String(size), KEY);
  console.log(`A store of ${size} agents was opened in ${subject.openMs} ms.`);
  const scenarios = [
    ...(size === SIZES[0] ? reads(subject).slice(0, 3) : []),
    ...reads(subject).slice(3),
    ...writes(`${size}`),
  ];
  for (const scenario of scenarios) {
    const { ours, theirs } = await measure(subject, baseline, scenario);
    const row = {
      records: size,
      scenario: scenario.name,
      'per second': Math.round(ours.rate),
      'bare Express': Math.round(theirs.rate),
      ratio: Math.round((ours.rate / theirs.rate) * 100) / 100,
      'p50 ms': ours.p50,
    };
    console.log(JSON.stringify(row));
    rows.push(row);
  }
  subject.child.send('stop');
  await once(subject.child, 'exit');
}
baseline.child.send('stop');
console.table(rows);
