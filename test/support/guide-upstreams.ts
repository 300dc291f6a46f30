import { createHmac, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { onLoopback } from './loopback.ts';
import { startModelServer } from './model-server.ts';

interface Hook {
  readonly config: { readonly url: string; readonly secret: string };
}

/** The part of GitHub's API that makes webhooks, and what GitHub then sends. It answers once its delivery was answered. */
export async function startGitHub(): Promise<string> {
  const hooks: Hook[] = [];
  const server = createServer(async (request, response) => {
    const [, id, isTest] = /^\/repos\/octo\/site\/hooks(?:\/(\d+)(\/tests))?$/.exec(request.url ?? '') ?? [];
    if (request.headers.authorization !== 'Bearer ghp_...' || request.method !== 'POST') {
      response.writeHead(401).end();
    } else if (isTest) {
      await deliver(hooks[Number(id)], 'push', PUSH);
      response.writeHead(204).end();
    } else {
      const hook = (await json(request)) as Hook; // as the test sends it
      hooks.push(hook);
      await deliver(hook, 'ping', { zen: 'Keep it logically awesome.' });
      response.writeHead(201, { 'Content-Type': 'application/json' }).end(JSON.stringify({ id: hooks.length - 1 }));
    }
  });
  return (await onLoopback(server)).url;
}

const PUSH = {
  ref: 'refs/heads/main',
  compare: 'https://github.com/octo/site/compare/1...2',
  head_commit: { id: '2', message: 'Fix the menu' },
  repository: { full_name: 'octo/site' },
};

async function deliver(hook: Hook | undefined, event: string, payload: object): Promise<void> {
  if (!hook) return;
  const body = JSON.stringify(payload);
  const headers = {
    'Content-Type': 'application/json',
    'X-GitHub-Event': event,
    'X-GitHub-Delivery': randomUUID(),
    'X-Hub-Signature-256': `sha256=${createHmac('sha256', hook.config.secret).update(body).digest('hex')}`,
  };
  await (await fetch(hook.config.url, { method: 'POST', headers, body })).arrayBuffer();
}

/** Models of several vendors, each saying hello. */
export async function startVendors() {
  const [ollama, openAi, anthropic] = await Promise.all([
    startModelServer(['llama3.2']),
    startModelServer(['gpt-5-mini']),
    startAnthropic(),
  ]);
  for (const model of [ollama, openAi]) model.play(() => ({ text: 'Hello there.' }));
  return { ollama: originOf(ollama.baseUrl), openAi: originOf(openAi.baseUrl), anthropic };
}

const originOf = (url: string) => new URL(url).origin;

async function startAnthropic(): Promise<string> {
  const server = createServer(async (request, response) => {
    if (isList(request)) {
      const data = [{ type: 'model', id: 'claude-sonnet-4-5', display_name: 'Claude' }];
      response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify({ data, has_more: false }));
      return;
    }
    await json(request);
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    for (const event of HELLO) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    response.end();
  });
  return (await onLoopback(server)).url;
}

const isList = ({ method, url = '' }: IncomingMessage) => method === 'GET' && url.startsWith('/v1/models');

/** An answer in the wire format of Anthropic's messages. */
const HELLO = [
  {
    type: 'message_start',
    message: {
      ...{ id: 'm', type: 'message', role: 'assistant', model: 'x', content: [] },
      usage: { input_tokens: 7, output_tokens: 1 },
    },
  },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello there.' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 4 } },
  { type: 'message_stop' },
];

/** A module that has a process of Node find these hosts at other addresses, as an entry in its table of hosts would. */
export function hostsModule(hosts: Readonly<Record<string, string>>): string {
  return `const hosts = ${JSON.stringify(Object.entries(hosts))};
const atHome = globalThis.fetch;
globalThis.fetch = (resource, options) => {
  const [host, address] = hosts.find(([host]) => String(resource).startsWith(host)) ?? ['', ''];
  return atHome(host ? address + String(resource).slice(host.length) : resource, options);
};
`;
}
