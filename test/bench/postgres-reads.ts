import { startBenchPostgres } from './analytics-postgres.ts';
import { load, type Measured, middle } from './load.ts';
import { KEY, type Scenario } from './scenarios.ts';
import { type Measurable, prepare, start, stop } from './servers.ts';

/**
 * An agent by its id, from PostgreSQL: one process, plain Express with the same query, and two processes at once, in turns of one run. Where
 * processors are scarce, the rates share them with this program and with PostgreSQL; then the processor time of a request says how far more
 * processes would go. Run with `npx tsx test/bench/postgres-reads.ts`.
 */
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5);
const SECONDS = Number(process.env.BENCH_SECONDS ?? 3);
const WARM_SECONDS = 2;
const AGENTS = 10_000;

/** With the processor time of PostgreSQL for a request, in microseconds. */
interface Read extends Measured {
  readonly database: number;
}

const server = await startBenchPostgres();
await prepare();
const environment = JSON.stringify({
  DATABASE_URL: server.url,
  SECRETS_KEY: Buffer.alloc(32, 1).toString('base64'),
  BASE_URL: 'http://bench.example',
});
const first = await start('subject', String(AGENTS), KEY, environment);
const second = await start('subject', '0', KEY, environment);
const express = await start('baseline', server.url);
await server.settle();
const scenario: Scenario = { name: 'by id', connections: 64, method: 'GET', path: `/api/v1/agents/${first.id}` };

async function measured(servers: readonly Measurable[], seconds: number): Promise<Read> {
  const before = server.processorMs();
  const connections = scenario.connections / servers.length;
  const each = await Promise.all(servers.map((one) => load(one, { ...scenario, connections }, seconds)));
  const rate = each.reduce((sum, one) => sum + one.rate, 0);
  const share = (pick: (one: Measured) => number) => each.reduce((sum, one) => sum + pick(one), 0) / each.length;
  const database = ((server.processorMs() - before) * 1000) / (rate * seconds);
  return { rate, p50: share(({ p50 }) => p50), cpu: share(({ cpu }) => cpu), database };
}

const subjects: readonly (readonly [string, readonly Measurable[]])[] = [
  ['one process', [first]],
  ['plain Express', [express]],
  ['two processes', [first, second]],
];
const found = new Map<string, Read[]>(subjects.map(([what]) => [what, []]));
for (const [, servers] of subjects) await measured(servers, WARM_SECONDS);
for (let round = 0; round < ROUNDS; round += 1) {
  for (const [what, servers] of subjects) found.get(what)?.push(await measured(servers, SECONDS));
}
const of = (what: string) => {
  const each = found.get(what) ?? [];
  return {
    ...middle(each),
    database: [...each].sort((a, b) => a.database - b.database)[each.length >> 1]?.database ?? 0,
  };
};
const [one, plain, two] = [of('one process'), of('plain Express'), of('two processes')];
console.table(
  Object.fromEntries(
    Object.entries({ one, plain, two }).map(([what, { rate, p50, cpu, database }]) => [
      what,
      {
        'requests/s': Math.round(rate),
        'p50 ms': p50,
        'µs of Node.js': Math.round(cpu),
        'µs of PostgreSQL': Math.round(database),
      },
    ]),
  ),
);
const ratio = (part: number, whole: number) => (part / whole).toFixed(2);
console.log(`Requests/s of one process to those of plain Express: ${ratio(one.rate, plain.rate)}.`);
console.log(
  `Processor time of plain Express to that of one process: ${ratio(plain.cpu, one.cpu)} of Node.js, ` +
    `${ratio(plain.cpu + plain.database, one.cpu + one.database)} with PostgreSQL.`,
);
console.log(
  `Requests/s of two processes to those of one: ${ratio(two.rate, one.rate)}. By the processor time of a request, ` +
    `where there are processors enough: ${ratio(2 * one.cpu, two.cpu)}.`,
);
await Promise.all([first, second, express].map(stop));
await server.stop();
