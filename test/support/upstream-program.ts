import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setImmediate } from 'node:timers/promises';

/**
 * A server of the 2024 revision on standard input and output. Arguments: `stubborn` ends by no signal but SIGKILL and not with its input,
 * `legacy-exit` ends at whatever comes before `initialize`, `parent` has a child of its own, `chatty` prints what is no message.
 */
const traits = new Set(process.argv.slice(2));
const names = ['pid', 'env', 'crash', 'huge', 'endless', 'never', 'flood', 'dam', 'progress', 'echo', 'deep'];
let calls = 0;
let initialized = false;
let dammed = false;

if (traits.has('stubborn')) {
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {});
  setInterval(() => {}, 1000);
}
const child = traits.has('parent')
  ? spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' })
  : undefined;
if (traits.has('chatty')) process.stdout.write('Starting up ...\n{"not": "a message"}\n');
process.stderr.write(`the token is ${process.env.TOKEN}\n`);

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === 'initialize') initialized = true;
  else if (!initialized && traits.has('legacy-exit')) process.exit(1);
  if (id === undefined) return;
  if (method === 'initialize') {
    answer(id, {
      protocolVersion: '2024-11-05',
      capabilities: { tools: {} },
      serverInfo: { name: 'program', version: '1' },
    });
  } else if (method === 'tools/list') answer(id, { tools: names.map(toolCalled) });
  else if (method === 'tools/call') call(id, params);
  else send({ jsonrpc: '2.0', id, error: { code: -32_601, message: 'Method not found' } });
});

function toolCalled(name: string) {
  return { name, description: `Does ${name}.`, inputSchema: { type: 'object' } };
}

function send(message: object): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

function answer(id: unknown, result: object): void {
  send({ jsonrpc: '2.0', id, result });
}

interface Params {
  readonly name: string;
  readonly arguments?: { readonly mebibytes?: number; readonly text?: string };
  readonly _meta?: { readonly progressToken?: unknown };
}

function call(id: unknown, { name, arguments: input = {}, _meta: meta }: Params): void {
  calls += 1;
  const say = (text: string) => answer(id, { content: [{ type: 'text', text }] });
  const tell = (method: string, params: object) => send({ jsonrpc: '2.0', method, params });
  if (name === 'pid') say(JSON.stringify({ pid: process.pid, child: child?.pid, calls }));
  else if (name === 'env') say(JSON.stringify(process.env));
  else if (name === 'crash') process.exit(3);
  else if (name === 'huge') writeHuge(input.mebibytes ?? 100, id);
  else if (name === 'endless') setInterval(() => process.stdout.write('x'.repeat(1 << 20)), 1);
  else if (name === 'flood') void flood(tell).then(() => say('flooded'));
  else if (name === 'dam') {
    dammed = true;
    say('dammed');
  } else if (name === 'progress') {
    const progressToken = meta?.progressToken;
    for (const progress of [1, 2, 3])
      tell('notifications/progress', { progressToken, progress, total: 3, message: `step ${progress}` });
    say('done');
  } else if (name === 'echo') say(input.text ?? '');
  else if (name === 'deep') {
    const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
    process.stdout.write(
      `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":[],"structuredContent":{"a":${deep}}}}\n`,
    );
  }
}

/** Notifications as fast as they are read, until `dam` is called. */
async function flood(tell: (method: string, params: object) => void): Promise<void> {
  for (let count = 0; !dammed; count += 1) {
    tell('notifications/message', { level: 'info', data: count });
    if (process.stdout.writableNeedDrain) await once(process.stdout, 'drain');
    else if (count % 100 === 0) await setImmediate();
  }
}

/** One answer of that many mebibytes, piece by piece. */
function writeHuge(mebibytes: number, id: unknown): void {
  process.stdout.write('{"result":{"content":[{"type":"text","text":"');
  for (let count = 0; count < mebibytes; count += 1) process.stdout.write('x'.repeat(1 << 20));
  process.stdout.write(`"}]},"jsonrpc":"2.0","id":${JSON.stringify(id)}}\n`);
}
