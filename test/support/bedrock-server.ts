import { createServer } from 'node:http';
import { crc32 } from 'node:zlib';
import { onLoopback } from './loopback.ts';

/** An event of `ConverseStream`: its type, and its JSON. */
export type BedrockEvent = readonly [type: string, data: object];
export type BedrockReply = readonly BedrockEvent[] | { readonly status: number; readonly type: string };

export interface BedrockRequest {
  readonly path: string;
  readonly authorization: string | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies freely
  readonly body: any;
}

/** A server of Amazon Bedrock's `ConverseStream`, whose part the test plays. */
export async function startBedrockServer() {
  const requests: BedrockRequest[] = [];
  let script: readonly BedrockReply[] = [];
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const { url: path = '', headers } = request;
    requests.push({ path, authorization: headers.authorization, body: JSON.parse(text) });
    const [reply = [], ...rest] = script;
    script = rest;
    if ('status' in reply) {
      response.writeHead(reply.status, { 'Content-Type': 'application/json', 'x-amzn-ErrorType': reply.type });
      return void response.end(JSON.stringify({ message: 'No.' }));
    }
    response.writeHead(200, { 'Content-Type': 'application/vnd.amazon.eventstream', 'x-amzn-RequestId': 'r1' });
    for (const event of reply) response.write(framed(event));
    response.end();
  });
  const { url, close } = await onLoopback(server);
  return {
    baseUrl: url,
    requests,
    /** What it says to the next requests, one after the other. */
    plays(...next: BedrockReply[]) {
      script = next;
    },
    close,
  };
}

/** A message of `application/vnd.amazon.eventstream`: lengths and their CRC, headers, payload, and the CRC of all. */
function framed([type, data]: BedrockEvent): Buffer {
  const isException = type.endsWith('Exception');
  const headers = Buffer.concat(
    [
      [isException ? ':exception-type' : ':event-type', type],
      [':content-type', 'application/json'],
      [':message-type', isException ? 'exception' : 'event'],
    ].map(([name = '', value = '']) => {
      const length = Buffer.alloc(2);
      length.writeUInt16BE(Buffer.byteLength(value));
      return Buffer.concat([
        Buffer.from([name.length]),
        Buffer.from(name),
        Buffer.from([7]),
        length,
        Buffer.from(value),
      ]);
    }),
  );
  const payload = Buffer.from(JSON.stringify(data));
  const prelude = Buffer.alloc(8);
  prelude.writeUInt32BE(16 + headers.length + payload.length, 0);
  prelude.writeUInt32BE(headers.length, 4);
  const message = Buffer.concat([prelude, checksum(prelude), headers, payload]);
  return Buffer.concat([message, checksum(message)]);
}

function checksum(bytes: Buffer): Buffer {
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(bytes));
  return sum;
}
