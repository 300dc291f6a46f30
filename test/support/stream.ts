import assert from 'node:assert/strict';
import { modern, modernHeaders } from '../facade/mcp-requests.ts';
import { credential } from './calls.ts';
import { eventsOf } from './events.ts';
import { until } from './until.ts';

/** A subscription to the list of tools. */
export interface OpenStream {
  readonly ended: Promise<'ended'>;
  /** What came so far: the method of each notification, and the type of the result. The acknowledgement is the first. */
  readonly heard: readonly string[];
  leave(): void;
}

/** Subscribes as the holder of the key or cookie, and resolves once that is acknowledged. */
export function openStream({ baseUrl }: { readonly baseUrl: string }, key: string): Promise<OpenStream> {
  return openStreamAt(`${baseUrl}/api/v1/mcp`, credential(key));
}

export async function openStreamAt(url: string, headers: Readonly<Record<string, string>>): Promise<OpenStream> {
  const method = 'subscriptions/listen';
  const controller = new AbortController();
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      ...headers,
      ...modernHeaders(method),
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify(modern(method, { notifications: { toolsListChanged: true } })),
    signal: controller.signal,
  });
  assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/);
  const heard: string[] = [];
  const follow = async () => {
    for await (const { data } of eventsOf(response)) heard.push(data.method ?? data.result.resultType);
  };
  const ended = follow().then(
    () => 'ended' as const,
    () => 'ended' as const,
  );
  await until(() => heard.length > 0);
  return { heard, ended, leave: () => controller.abort() };
}
