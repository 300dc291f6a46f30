import { createServer } from 'node:http';
import { onLoopback } from './loopback.ts';

export type AnthropicEvents = readonly ({ readonly type: string } & Readonly<Record<string, unknown>>)[];

/** The beginning of an answer, with what it says of usage. */
export const begin = (block: object, usage: object = { input_tokens: 7, output_tokens: 1 }): AnthropicEvents => [
  {
    type: 'message_start',
    message: { id: 'm', type: 'message', role: 'assistant', model: 'x', content: [], usage },
  },
  { type: 'content_block_start', index: 0, content_block: block },
];
export const delta = (piece: object): AnthropicEvents => [{ type: 'content_block_delta', index: 0, delta: piece }];
export const end = (reason: string, usage: object = { output_tokens: 4 }): AnthropicEvents => [
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: reason }, usage },
  { type: 'message_stop' },
];
export const words = (text: string, usage?: object): AnthropicEvents => [
  ...begin({ type: 'text', text: '' }, usage),
  ...delta({ type: 'text_delta', text }),
  ...end('end_turn'),
];
export const toolUse = (name: string, json: string): AnthropicEvents => [
  ...begin({ type: 'tool_use', id: `toolu_${name}`, name, input: {} }),
  ...delta({ type: 'input_json_delta', partial_json: json }),
  ...end('tool_use'),
];

export interface AnthropicServer {
  readonly baseUrl: string;
  /** Bodies of requests, as they came. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies freely
  readonly bodies: any[];
  /** What it says to the next requests, one after the other. */
  plays(...script: AnthropicEvents[]): void;
  close(): Promise<void>;
}

/** A server of Anthropic's messages whose part the test plays. */
export async function startAnthropicServer(): Promise<AnthropicServer> {
  let script: AnthropicEvents[] = [];
  const bodies: AnthropicServer['bodies'] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    bodies.push(JSON.parse(body));
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    for (const event of script.shift() ?? [])
      response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    response.end();
  });
  const { url, close } = await onLoopback(server);
  return {
    baseUrl: `${url}/v1`,
    bodies,
    plays(...next) {
      script = next;
    },
    close,
  };
}
