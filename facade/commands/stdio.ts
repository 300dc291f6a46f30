import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { type JSONRPCMessage, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { howToRun } from '../config/how-to-run.ts';
import { readClientConfig } from './client-config.ts';
import { answerHelp, runCommand } from './run-command.ts';
import { answeringFetch } from './stdio-fetch.ts';

const USAGE = `Usage: ${howToRun('stdio')}

The stdio door of the running server. An MCP client starts it, and speaks to it by standard input and output.
Environment: API_KEY (required), BASE_URL (default http://127.0.0.1:3000), CAPSULE_ID where API_KEY is the token of a
capsule, MODE=search for three tools that lead to all others.`;

const LAST_ANSWERS_MS = 10_000;

/** The stdio door: passes messages of every revision unchanged. Only messages of the protocol go to standard output. */
async function main(): Promise<void> {
  const { mcpUrl, apiKey } = readClientConfig(process.env);
  const transport = new StreamableHTTPClientTransport(mcpUrl, {
    requestInit: { headers: { Authorization: `Bearer ${apiKey}`, 'X-Agent-Admin-Door': 'stdio' } },
    fetch: answeringFetch,
  });
  const requests = new Requests(transport);
  transport.onmessage = (message) => {
    if ('result' in message && typeof message.result.protocolVersion === 'string') {
      transport.setProtocolVersion(message.result.protocolVersion); // the answer to initialize
    }
    if (!('method' in message) && message.id !== undefined) requests.answered(message.id);
    write(message);
  };
  transport.onerror = ({ message }) => console.error(message);
  await transport.start();

  for await (const line of createInterface({ input: process.stdin, crlfDelay: Number.POSITIVE_INFINITY })) {
    const message = parse(line);
    if (message) requests.send(message);
  }
  const deadline = Date.now() + LAST_ANSWERS_MS;
  while (requests.areWaitedFor && Date.now() < deadline) await delay(20);
  await transport.close();
}

/** The requests without an answer so far. A stdio client cancels a request by a message; over HTTP, the request must be closed. */
class Requests {
  readonly #transport: StreamableHTTPClientTransport;
  readonly #open = new Map<string | number, { readonly method: string; readonly controller: AbortController }>();

  constructor(transport: StreamableHTTPClientTransport) {
    this.#transport = transport;
  }

  /** A subscription is not waited for, because it has no answer except its end. */
  get areWaitedFor(): boolean {
    return [...this.#open.values()].some(({ method }) => method !== 'subscriptions/listen');
  }

  send(message: JSONRPCMessage): void {
    const controller = new AbortController();
    const { signal: requestSignal } = controller;
    if ('method' in message && 'id' in message) this.#open.set(message.id, { method: message.method, controller });
    const onRequestStreamEnd = () => this.#ended(message);
    this.#transport.send(message, { requestSignal, onRequestStreamEnd }).catch(({ message }: Error) => {
      if (!requestSignal.aborted) console.error(message);
    });
    if ('method' in message && message.method === 'notifications/cancelled') this.#cancel(message.params?.requestId);
  }

  answered(id: string | number): void {
    this.#open.delete(id);
  }

  #cancel(id: unknown): void {
    if (typeof id !== 'string' && typeof id !== 'number') return;
    this.#open.get(id)?.controller.abort();
    this.#open.delete(id);
  }

  /** Where the server ends the stream without an answer, for example because the key was revoked, the client gets an error instead. */
  #ended(message: JSONRPCMessage): void {
    if (!('id' in message) || message.id === undefined || !this.#open.delete(message.id)) return;
    write({ jsonrpc: '2.0', id: message.id, error: { code: -32000, message: 'The server ended this request.' } });
  }
}

function parse(line: string): JSONRPCMessage | undefined {
  if (line.trim() === '') return undefined;
  try {
    const message: unknown = JSON.parse(line);
    // The server says what is wrong with an object that is not a message.
    if (typeof message === 'object' && message !== null && !Array.isArray(message)) return message as JSONRPCMessage;
    write({
      jsonrpc: '2.0',
      id: null,
      error: { code: -32600, message: 'Invalid request: a line is one JSON object.' },
    });
    return undefined;
  } catch {
    write({
      jsonrpc: '2.0',
      id: null,
      error: { code: -32700, message: 'Parse error: a line is one JSON-RPC message.' },
    });
    return undefined;
  }
}

function write(message: object): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

answerHelp(USAGE);
runCommand(main);
