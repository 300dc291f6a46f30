import { createServer, IncomingMessage, ServerResponse } from 'node:http';
import { type AddressInfo, Socket } from 'node:net';
import { measureRequests } from '../../facade/http/observed-request.ts';
import { type Endpoint, RequestContext } from '../../facade/http/request-context.ts';
import { Telemetry } from '../../tools/core/telemetry/telemetry.ts';
import { load, type Measured, middle, ROUNDS, SECONDS } from './load.ts';
import { KEY, reads, type Scenario } from './scenarios.ts';
import { prepare, type Subject, start, stop } from './servers.ts';
import { quantile } from './timing.ts';

/**
 * What measuring and tracing cost: the processor time of a call in servers that measure nothing, measure (as every server does), also answer
 * `/api/v1/metrics`, and trace every call or one in a hundred, in alternating rounds of one run. `npx tsx test/bench/telemetry.ts`
 */
const TIMES = 200_000;
const PAIRS = 5;

const collector = createServer((request, response) => {
  request.resume();
  request.on('end', () => response.writeHead(200).end());
});
await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
const { port } = collector.address() as AddressInfo; // listening on TCP
const sent = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` };

const kinds: readonly (readonly [name: string, env: Record<string, string>])[] = [
  ['measures nothing', { UNMEASURED: '1' }],
  ['measures, traces off', {}],
  ['metrics sent, traces off', { ...sent, OTEL_TRACES_EXPORTER: 'none', OTEL_METRIC_EXPORT_INTERVAL: '1000' }],
  ['traces 1 call in 100', { ...sent, OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.01' }],
  ['traces every call', sent],
];

await prepare();
const servers: { name: string; subject: Subject }[] = [];
for (const [name, env] of kinds) {
  servers.push({ name, subject: await start('subject', '1000', KEY, JSON.stringify(env)) });
}

const measuring = timeOfMeasuring();
const rows: Record<string, string>[] = [];
for (const which of [0, 5]) {
  const scenarioOf = ({ id }: Subject) => reads({ id } as Subject, { id: '', token: '' })[which] as Scenario; // there are seven
  const all = new Map<string, Measured[]>(servers.map(({ name }) => [name, []]));
  for (const { subject } of servers) await load(subject, scenarioOf(subject), 2);
  for (let round = 0; round < ROUNDS; round += 1) {
    // Each server comes first as often as any other, because the machine is not as fast all the time.
    for (let at = 0; at < servers.length; at += 1) {
      const { name, subject } = servers[(at + round) % servers.length] ?? {};
      if (name && subject) all.get(name)?.push(await load(subject, scenarioOf(subject), SECONDS));
    }
  }
  const nothing = middle(all.get(kinds[0]?.[0] ?? '') ?? []);
  const share = ((100 * measuring) / nothing.cpu).toFixed(1);
  console.log(`Measuring takes ${measuring.toFixed(2)} us of a call of ${nothing.cpu.toFixed(1)} us: ${share} %`);
  for (const [name, measured] of all) {
    const { cpu, rate } = middle(measured);
    const ratio = (cpu / nothing.cpu).toFixed(3);
    const scenario = servers[0] ? scenarioOf(servers[0].subject).name : '';
    rows.push({ scenario, server: name, 'us of processor time': cpu.toFixed(1), ratio, 'requests/s': rate.toFixed(0) });
  }
}
console.table(rows);
for (const { subject } of servers) await stop(subject);
collector.close();
collector.closeAllConnections();

/**
 * The processor time, in microseconds, that measuring adds to a call where nothing is traced: its request, its message, its tool and the questions
 * whether there is a span around it. By itself it can be told to a hundredth of what a busy machine adds to whole calls.
 */
function timeOfMeasuring(): number {
  const telemetry = new Telemetry({ toolNames: ['get_agent'] });
  const measure = measureRequests(telemetry);
  const request = new IncomingMessage(new Socket());
  request.method = 'POST';
  const endpoint: Endpoint = { method: 'POST', path: '/api/v1/mcp', serve() {} };
  const call = { door: 'mcp', requestId: 'r', principal: { type: 'api-key' } };
  const answer = Promise.resolve({ ok: true as const });
  const message = telemetry.measures.messageSeconds.point('tools/call', '');
  const rounds = Array.from({ length: PAIRS }, () => {
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
  return quantile(rounds);
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
