import assert from 'node:assert/strict';
import { modern, modernHeaders } from '../facade/mcp-requests.ts';
import { credential } from './calls.ts';

/** A subscription to the list of tools, with a promise of its end. */
export interface OpenStream {
  readonly ended: Promise<'ended'>;
}

/** Subscribes as the holder of the key or cookie, and resolves once the stream is open. */
export async function openStream({ baseUrl }: { readonly baseUrl: string }, key: string): Promise<OpenStream> {
  const method = 'subscriptions/listen';
  const response = await fetch(`${baseUrl}/api/v1/mcp`, {
    method: 'POST',
    headers: {
      ...credential(key),
      ...modernHeaders(method),
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify(modern(method, { notifications: { toolsListChanged: true } })),
  });
  assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/);
  const reader = response.body?.getReader();
  await reader?.read();
  const drain = async () => {
    while (!(await reader?.read())?.done);
  };
  return {
    ended: drain().then(
      () => 'ended',
      () => 'ended',
    ),
  };
}
