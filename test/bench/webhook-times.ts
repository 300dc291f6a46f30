import { request } from 'node:http';
import { mustCall } from '../support/calls.ts';
import { startTestServer } from '../support/server.ts';
import { generic, github, type Sender, standard, triggerFor } from '../support/webhook-senders.ts';
import { quantile } from './timing.ts';

/**
 * Whether the time of a refusal tells which flows there are: the ratio of the medians of an unknown flow and of a bad signature, measured in
 * turns. Run with `npx tsx test/bench/webhook-times.ts`; with `TEST_STORE=postgres` on PostgreSQL.
 */
const TIMES = 4000;
/** Of an address, so many deliveries are taken in a minute. */
const MOST_OF_ADDRESS = 500;
const SIZES = [20, 500_000];

const server = await startTestServer();
const ask = (tool: string, input: object) => mustCall(server, server.adminKey, tool, input);
const steps = [{ id: 'a', tool: 'list_agents', arguments: {} }];

let sent = 0;
function refused(flowId: string, { headers, body }: { headers: Readonly<Record<string, string>>; body: string }) {
  const localAddress = `127.0.1.${1 + (Math.floor(sent / MOST_OF_ADDRESS) % 254)}`;
  sent += 1;
  const begun = performance.now();
  return new Promise<number>((resolve, reject) => {
    const url = `${server.baseUrl}/api/v1/agents/flows/${flowId}/trigger`;
    const asked = request(url, { method: 'POST', headers: { ...headers }, localAddress, agent: false }, (answer) => {
      const took = performance.now() - begun;
      answer.resume().on('end', () => (answer.statusCode === 401 ? resolve(took) : reject(answer.statusCode)));
    });
    asked.on('error', reject).end(body);
  });
}

async function compare(sender: Sender, size: number, times: number) {
  const { id } = await ask('create_flow', { name: 'x', trigger: triggerFor(sender), steps });
  const unknown = `${id.slice(0, -6)}zzzzzz`;
  const signed = sender.sign(JSON.stringify({ text: 'x'.repeat(size) }), Math.floor(Date.now() / 1000), 'msg_1');
  const forged = { ...signed, body: signed.body.replace('x', 'y') };
  const taken: Record<'unknown' | 'known' | 'again', number[]> = { unknown: [], known: [], again: [] };
  for (let time = 0; time < times; time += 1) {
    // Another order each time, as one prepares the way for the next. The known flow twice, for what differs anyway.
    const order = (['unknown', 'known', 'again'] as const).map((_, at, all) => all[(at + time) % 3] ?? 'known');
    for (const which of order) taken[which].push(await refused(which === 'unknown' ? unknown : id, forged));
  }
  const [none, known, again] = [quantile(taken.unknown), quantile(taken.known), quantile(taken.again)];
  const figure = (value: number) => Number(value.toFixed(3));
  return {
    ...{
      scheme: sender.scheme,
      'body, bytes': signed.body.length,
      'unknown, ms': figure(none),
      'bad, ms': figure(known),
    },
    ...{ ratio: figure(none / known), 'ratio of two known': figure(again / known) },
  };
}

await compare(github, 20, 300); // until all of it is compiled
const rows: object[] = [];
for (const size of SIZES)
  for (const sender of [github, standard, generic])
    rows.push(await compare(sender, size, size > 1000 ? TIMES / 8 : TIMES));
console.table(rows);
await server.close();
