import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import autocannon from 'autocannon';
import { pluck } from '../support/pluck.ts';
import { headersFor, type Scenario } from './scenarios.ts';
import { cpuTime, type Measurable, tell } from './servers.ts';
import { quantile } from './timing.ts';

export const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3);
export const SECONDS = Number(process.env.BENCH_SECONDS ?? 3);
const WARM_SECONDS = 2;
const ALONE = 2000;

export interface Measured {
  readonly rate: number;
  readonly p50: number;
  /** Processor time of a request in microseconds, that of all threads of the server. */
  readonly cpu: number;
}

/** Both servers in turns, so that other programs that are busy hold up both. */
export interface Compared {
  readonly ours: Measured;
  readonly theirs: Measured;
}

/** The baseline answers what the subject answered. */
export async function compare(subject: Measurable, baseline: Measurable, scenario: Scenario): Promise<Compared> {
  await answerAlike(subject, baseline, scenario);
  for (const server of [subject, baseline]) await load(server, scenario, WARM_SECONDS);
  const ours: Measured[] = [];
  const theirs: Measured[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    ours.push(await load(subject, scenario, SECONDS));
    theirs.push(await load(baseline, scenario, SECONDS));
  }
  return { ours: middle(ours), theirs: middle(theirs) };
}

async function answerAlike(subject: Measurable, baseline: Measurable, scenario: Scenario): Promise<void> {
  const response = await fetch(subject.baseUrl + scenario.path, {
    method: scenario.method,
    headers: headersFor(scenario),
    ...(scenario.body && { body: nextBody(scenario.body) }),
  });
  await tell(baseline, { key: `${scenario.method} ${scenario.path.split('?')[0]}`, body: await response.json() });
}

let made = 0;

function nextBody(body: (n: number) => object): string {
  made += 1;
  return JSON.stringify(body(made));
}

function freshBodies(body: (n: number) => object) {
  return { setupRequest: (request: autocannon.Request) => ({ ...request, body: nextBody(body) }) };
}

export async function load(server: Measurable, scenario: Scenario, seconds: number): Promise<Measured> {
  const { name, connections, method, path, body } = scenario;
  const before = await cpuTime(server);
  const result = await autocannon({
    url: server.baseUrl,
    connections,
    duration: seconds,
    requests: [
      {
        method,
        path,
        headers: headersFor(scenario),
        ...(body && (body.length === 0 ? { body: nextBody(body) } : freshBodies(body))),
      },
    ],
  });
  if (result.non2xx > 0 || result.errors > 0) {
    throw new Error(`${name}: ${result.non2xx} refused, ${result.errors} failed`);
  }
  const cpu = ((await cpuTime(server)) - before) / result.requests.total;
  return { rate: result.requests.average, p50: result.latency.p50, cpu };
}

export function middle(results: readonly Measured[]): Measured {
  const of = (member: keyof Measured) => quantile(pluck(results, member));
  return { rate: of('rate'), p50: of('p50'), cpu: of('cpu') };
}

/** Latencies in milliseconds of one request after the other on one connection. */
export interface Latencies {
  readonly p50: number;
  readonly p99: number;
}

/** Alternates between both servers request by request, so that other programs disturb both alike. */
export async function oneByOne(
  subject: Measurable,
  baseline: Measurable,
  scenario: Scenario,
): Promise<{ readonly ours: Latencies; readonly theirs: Latencies }> {
  await answerAlike(subject, baseline, scenario);
  const agent = new Agent({ keepAlive: true });
  const [ours, theirs]: [number[], number[]] = [[], []];
  for (let count = 0; count < 2 * ALONE; count += 1) {
    const pair = [await timed(subject, scenario, agent), await timed(baseline, scenario, agent)] as const;
    if (count < ALONE) continue; // warm first
    ours.push(pair[0]);
    theirs.push(pair[1]);
  }
  agent.destroy();
  const latencies = (values: readonly number[]) => ({ p50: quantile(values), p99: quantile(values, 0.99) });
  return { ours: latencies(ours), theirs: latencies(theirs) };
}

async function timed({ baseUrl }: Measurable, scenario: Scenario, agent: Agent): Promise<number> {
  const { method, path, body } = scenario;
  const started = performance.now();
  const asking = request(baseUrl + path, { method, agent, headers: headersFor(scenario) });
  asking.end(body && nextBody(body));
  const [answer] = (await once(asking, 'response')) as [IncomingMessage];
  answer.resume();
  await once(answer, 'end');
  return performance.now() - started;
}
