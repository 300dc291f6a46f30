import { Agent, request } from 'node:http';

/** A process apart, so that sending does not hold up measuring: sends one request from several callers, again and again. */
interface Attack {
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body: string;
  readonly callers: number;
}

const agent = new Agent({ keepAlive: true });
let generation = 0;

process.on('message', async (attack: Attack | 'stop') => {
  generation += 1;
  if (attack === 'stop') return process.send?.('stopped');
  const body = Buffer.from(attack.body, 'base64');
  for (let caller = 0; caller < attack.callers; caller += 1) void goOn(attack, body, generation);
  process.send?.('begun');
});
process.on('disconnect', () => process.exit(0));

async function goOn(attack: Attack, body: Buffer, begun: number): Promise<void> {
  while (begun === generation) await send(attack, body);
}

function send({ url, headers }: Attack, body: Buffer): Promise<void> {
  return new Promise((resolve) => {
    const sent = request(url, { method: 'POST', agent, headers: { ...headers, 'content-length': body.length } });
    sent.on('response', (answer) => answer.resume());
    sent.on('error', () => {}); // a refused body is cut off
    sent.on('close', resolve);
    sent.end(body);
  });
}
