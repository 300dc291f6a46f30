import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import autocannon from 'autocannon';

/**
 * Requests per second of the server beside bare Express routes that answer the same bytes, in alternating rounds of one run, and the
 * processor time of each request, which says the same while other programs are busy too. The ratios to the baseline are the figures; the
 * absolute numbers are this machine's.
 */
const KEY = `ak_bench000_${'b'.repeat(43)}`;
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3);
const SECONDS = Number(process.env.BENCH_SECONDS ?? 4);
const SIZES = [1_000, 100_000];
/** Words of the names of scenarios to measure; all of them unless given. */
const wanted = process.argv.slice(2);

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
  /** Bearer token; the admin key unless given. */
  readonly token?: string;
  /** The body of the nth request. */
  readonly body?: (n: number) => object;
}

const headersFor = ({ token = KEY }: Pick<Scenario, 'token'>) => ({
  authorization: `Bearer ${token}`,
  'content-type': 'application/json',
});
const rpc = (method: string, params?: object) => () => ({ jsonrpc: '2.0', id: 1, method, ...(params && { params }) });

interface Capsule {
  readonly id: string;
  readonly token: string;
}

/** A capsule of 8 tools, with every limit a capsule can have. */
async function makeCapsule({ baseUrl, id: agentId }: Subject): Promise<Capsule> {
  const body = {
    name: 'bench',
    status: 'live',
    allowedTools: ['get_agent', '*_skill', 'list_skills', 'list_agents', 'update_agent'],
    deniedTools: ['purge_*'],
    expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
    constraints: { get_agent: { id: agentId } },
  };
  const answer = await fetch(`${baseUrl}/api/capsules`, {
    method: 'POST',
    headers: headersFor({}),
    body: JSON.stringify(body),
  });
  return (await answer.json()) as Capsule; // as the tool declares it
}

function reads({ id }: Subject, capsule: Capsule): Scenario[] {
  const mcp = { connections: 64, method: 'POST', path: '/api/v1/mcp' } as const;
  const inCapsule = { ...mcp, path: `/api/capsules/${capsule.id}/mcp`, token: capsule.token };
  const get = { connections: 64, method: 'GET' } as const;
  return [
    { ...mcp, name: 'tools/call get_agent', body: rpc('tools/call', { name: 'get_agent', arguments: { id } }) },
    { ...mcp, name: 'tools/list', body: rpc('tools/list') },
    { ...inCapsule, name: 'tools/call get_agent, capsule', body: rpc('tools/call', { name: 'get_agent' }) },
    { ...inCapsule, name: 'tools/list, capsule', body: rpc('tools/list') },
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

interface Measured {
  /** Requests per second. */
  readonly rate: number;
  /** Median latency in milliseconds. */
  readonly p50: number;
  /** Processor time of a request in microseconds, that of all threads of the server. */
  readonly cpu: number;
}

async function load(server: Subject, scenario: Scenario): Promise<Measured> {
  const before = await cpuTime(server);
  const result = await autocannon({
    url: server.baseUrl,
    connections: scenario.connections,
    duration: SECONDS,
    requests: [
      {
        method: scenario.method,
        path: scenario.path,
        headers: headersFor(scenario),
        ...(scenario.body &&
          (scenario.body.length === 0 ? { body: nextBody(scenario.body) } : freshBodies(scenario.body))),
      },
    ],
  });
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${scenario.name}: ${result.non2xx} refused, ${result.errors} failed`);
  const cpu = ((await cpuTime(server)) - before) / result.requests.total;
  return { rate: result.requests.average, p50: result.latency.p50, cpu };
}

/** What the process has used until now, in microseconds. */
async function cpuTime({ child }: Subject): Promise<number> {
  child.send('cpu');
  const [{ user, system }] = await once(child, 'message');
  return user + system;
}

async function measure(subject: Subject, baseline: Subject, scenario: Scenario) {
  const response = await fetch(subject.baseUrl + scenario.path, {
    method: scenario.method,
    headers: headersFor(scenario),
    ...(scenario.body && { body: nextBody(scenario.body) }),
  });
  const key = `${scenario.method} ${scenario.path.split('?')[0]}`;
  baseline.child.send({ key, body: await response.json() });
  await once(baseline.child, 'message');
  const ours: Measured[] = [];
  const theirs: Measured[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    ours.push(await load(subject, scenario));
    theirs.push(await load(baseline, scenario));
  }
  return { ours: middle(ours), theirs: middle(theirs) };
}

/** The median of each. */
function middle(results: readonly Measured[]): Measured {
  const median = (of: (result: Measured) => number) => results.map(of).sort((a, b) => a - b)[results.length >> 1] ?? 0;
  return { rate: median(({ rate }) => rate), p50: median(({ p50 }) => p50), cpu: median(({ cpu }) => cpu) };
}

function twoDigits(value: number): number {
  return Math.round(value * 100) / 100;
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
  const all = reads(subject, await makeCapsule(subject));
  const [independent, dependent] = [all.slice(0, -1), all.slice(-1)];
  const scenarios = [...(size === SIZES[0] ? independent : []), ...dependent, ...writes(`${size}`)].filter(({ name }) =>
    wanted.every((word) => name.includes(word)),
  );
  for (const scenario of scenarios) {
    const { ours, theirs } = await measure(subject, baseline, scenario);
    const row = {
      records: size,
      scenario: scenario.name,
      'per second': Math.round(ours.rate),
      'bare Express': Math.round(theirs.rate),
      ratio: twoDigits(ours.rate / theirs.rate),
      'µs cpu': Math.round(ours.cpu),
      'cpu ratio': twoDigits(theirs.cpu / ours.cpu),
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
