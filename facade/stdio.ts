import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { type JSONRPCMessage, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { readClientConfig } from './client-config.ts';
import { explainExit } from './explain-exit.ts';
import { answeringFetch } from './stdio-fetch.ts';

/** How long requests may take to be answered once standard input has ended. */
const LAST_ANSWERS_MS = 10_000;

/**
 * The stdio door, for clients such as Claude Desktop: carries each JSON-RPC message between standard input and output and the running
 * server, in any protocol revision, unchanged. Nothing but protocol goes to standard output.
 */
async function main(): Promise<void> {
  const { mcpUrl, apiKey } = readClientConfig(process.env);
  const unanswered = new Set<string | number>();
  const transport = new StreamableHTTPClientTransport(mcpUrl, {
    requestInit: { headers: { Authorization: `Bearer ${apiKey}`, 'X-Agent-Admin-Door': 'stdio' } },
    fetch: answeringFetch,
  });
  transport.onmessage = (message) => {
    if ('result' in message && typeof message.result.protocolVersion === 'string') {
      transport.setProtocolVersion(message.result.protocolVersion); // the answer to initialize
    }
    if (!('method' in message) && message.id !== undefined) unanswered.delete(message.id);
    write(message);
  };
  transport.onerror = ({ message }) => console.error(message);
  await transport.start();

  for await (const line of createInterface({ input: process.stdin, crlfDelay: Number.POSITIVE_INFINITY })) {
    const message = parse(line);
    if (!message) continue;
    if ('method' in message && 'id' in message) unanswered.add(message.id);
    transport.send(message).catch(({ message }: Error) => console.error(message));
  }
  const deadline = Date.now() + LAST_ANSWERS_MS;
  while (unanswered.size > 0 && Date.now() < deadline) await delay(20);
  await transport.close();
}

/** The message on the line; an answer is written for a line that holds none. */
function parse(line: string): JSONRPCMessage | undefined {
  if (line.trim() === '') return undefined;
  try {
    const message: unknown = JSON.parse(line);
    // The server says what is wrong with an object that is no message.
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

main().catch(explainExit);
