import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { fileURLToPath } from 'node:url';
import { askMcp, mustCall, toolNames } from './calls.ts';
import { onLoopback } from './loopback.ts';
import { nodeArgs } from './node-args.ts';
import type { TestServer } from './server.ts';

/** The published reference server. */
export const EVERYTHING = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'));

/** A program of tests that behaves as its arguments say. */
export const PROGRAM = fileURLToPath(new URL('./upstream-program.ts', import.meta.url));

// biome-ignore lint/suspicious/noExplicitAny: a fake server looks into messages freely
type Message = any;
type Respond = (request: IncomingMessage, response: ServerResponse, message: Message) => unknown;

export interface FakeUpstream {
  readonly url: string;
  /** What it lists; changed by tests. */
  tools: object[];
  /** Takes over an answer where it returns other than false. */
  intercept: Respond;
  readonly requests: { readonly method: string; readonly headers: IncomingMessage['headers'] }[];
  close(): Promise<void>;
}

/** A server of the 2025 revisions on loopback that answers in JSON. Tests set what it does. */
export async function startUpstream(...tools: object[]): Promise<FakeUpstream> {
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const message = text ? JSON.parse(text) : {};
    fake.requests.push({ method: message.method ?? request.method, headers: request.headers });
    if ((await fake.intercept(request, response, message)) !== false) return;
    if (message.id === undefined) return void response.writeHead(request.method === 'POST' ? 202 : 405).end();
    reply(response, message.id, resultOf(message, fake.tools));
  });
  const { url, close } = await onLoopback(server);
  const fake: FakeUpstream = {
    url: `${url}/mcp`,
    tools,
    intercept: () => false,
    requests: [],
    close,
  };
  return fake;
}

function resultOf({ method, params }: Message, tools: readonly object[]): object | undefined {
  if (method === 'initialize') {
    const { protocolVersion } = params;
    return {
      protocolVersion,
      capabilities: { tools: { listChanged: true } },
      serverInfo: { name: 'fake', version: '1' },
    };
  }
  if (method === 'tools/list') return { tools };
  if (method === 'tools/call') return { content: [{ type: 'text', text: JSON.stringify(params.arguments) }] };
  return method === 'ping' ? {} : undefined;
}

/** Answers without a result, that there is no such method. */
export function reply(response: ServerResponse, id: unknown, result: object | undefined): void {
  const body = result ? { result } : { error: { code: -32_601, message: 'Method not found' } };
  response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, ...body }));
}

/** A tool as upstreams list it. */
export function toolCalled(name: string, rest: object = {}): object {
  return { name, description: `The tool ${name}.`, inputSchema: { type: 'object', properties: {} }, ...rest };
}

/** What `tools/call` answers, as it is on the wire. */
export async function callRaw(
  server: TestServer,
  name: string,
  args: object = {},
  key = server.adminKey,
): Promise<Message> {
  const body = await askMcp(server, key, 'tools/call', { name, arguments: args });
  return body.result ?? body;
}

/** The error of a call that must fail. */
export async function errorOfCall(server: TestServer, name: string, args: object = {}, key?: string): Promise<Message> {
  const result = await callRaw(server, name, args, key);
  if (!result.isError) throw new Error(`${name} did not fail: ${JSON.stringify(result)}`);
  return JSON.parse(result.content[0].text);
}

/** Names of the tools of integrations that the key sees. */
export async function guestNames(server: TestServer, key = server.adminKey): Promise<string[]> {
  return (await toolNames(server, key)).filter((name) => name.includes('__'));
}

/** An integration of the URL, with its tools accepted. */
export function connectHttp(server: TestServer, url: string, more: object = {}): Promise<Message> {
  const input = { name: 'Fake', transport: 'http', url, accept: true, ...more };
  return mustCall(server, server.adminKey, 'create_integration', input);
}

/** An integration of the program of tests. */
export function connectProgram(server: TestServer, args: readonly string[], more: object = {}): Promise<Message> {
  const program = { command: process.execPath, args: [...nodeArgs(PROGRAM), ...args] };
  return mustCall(server, server.adminKey, 'create_integration', {
    name: 'Program',
    transport: 'stdio',
    ...program,
    accept: true,
    ...more,
  });
}

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Lets the fake server list these tools under the prefix `fake`, accepted, while the work goes on. */
export async function withTools(
  server: TestServer,
  fake: FakeUpstream,
  tools: readonly unknown[],
  work: (id: string) => Promise<void>,
  more: object = {},
): Promise<void> {
  [fake.tools, fake.intercept] = [tools as object[], () => false]; // of a liar, anything
  const { id } = await connectHttp(server, fake.url, more);
  try {
    await work(id);
  } finally {
    fake.intercept = () => false;
    await mustCall(server, server.adminKey, 'delete_integration', { id });
  }
}

/** The same for the program of tests, under the prefix `program`. */
export async function withProgram(
  server: TestServer,
  args: readonly string[],
  work: (id: string) => Promise<void>,
  more: object = {},
): Promise<void> {
  const { id } = await connectProgram(server, args, more);
  try {
    await work(id);
  } finally {
    await mustCall(server, server.adminKey, 'delete_integration', { id });
  }
}
