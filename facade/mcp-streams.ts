import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Exchange } from './exchange.ts';
import type { Flight } from './mcp-calls.ts';
import { sendJsonText } from './mcp-wire.ts';

/** How often a credential is looked at again while its stream is open. */
const RECHECK_MS = 1000;

/** Sends what the SDK answered. A stream ends when the client goes, the request is cancelled or its credential stops being valid. */
export async function sendWebResponse(
  exchange: Exchange,
  flight: Flight,
  answer: Response,
  onError: (cause: unknown) => void,
): Promise<void> {
  const { response } = exchange;
  if (response.destroyed) {
    await answer.body?.cancel();
    return;
  }
  if (answer.headers.get('content-type')?.startsWith('text/event-stream') && answer.body) {
    const watch = setInterval(() => void endIfInvalid(exchange, flight, onError), RECHECK_MS);
    await pipeEvents(response, answer, answer.body).finally(() => clearInterval(watch));
  } else if (answer.body) sendJsonText(response, answer.status, await answer.text());
  else response.writeHead(answer.status, { 'Content-Length': 0, 'Cache-Control': 'no-store' }).end();
}

async function pipeEvents(response: ServerResponse, answer: Response, body: NonNullable<Response['body']>) {
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  response.flushHeaders();
  try {
    await pipeline(Readable.fromWeb(body), response);
  } catch {
    response.destroy(); // the client went away, or the stream broke: there is nobody to tell
  }
}

async function endIfInvalid(exchange: Exchange, flight: Flight, onError: (cause: unknown) => void) {
  let valid = false;
  try {
    valid = await exchange.stillValid();
  } catch (cause) {
    onError(cause);
  }
  if (!valid) flight.abort();
}
