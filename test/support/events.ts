import { credential } from './calls.ts';

/** One server-sent event. */
export interface SentEvent {
  readonly name: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into events freely
  readonly data: any;
}

/** A request that is answered by a stream of events, as `fetch` gives them. */
export async function openEvents(
  { baseUrl }: { readonly baseUrl: string },
  path: string,
  { key, body, headers = {} }: { key: string; body: unknown; headers?: Record<string, string> },
) {
  const controller = new AbortController();
  const response = await fetch(`${baseUrl}${path}`, {
    method: 'POST',
    headers: {
      ...credential(key),
      'Content-Type': 'application/json',
      Accept: 'text/event-stream',
      ...headers,
    },
    body: JSON.stringify(body),
    signal: controller.signal,
  });
  return { response, events: eventsOf(response), goAway: () => controller.abort() };
}

export async function* eventsOf({ body }: Response): AsyncGenerator<SentEvent> {
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const name = /^event: (.*)$/m.exec(block)?.[1];
      const data = /^data: (.*)$/m.exec(block)?.[1];
      if (name !== undefined && data !== undefined) yield { name, data: JSON.parse(data) };
    }
  }
}

export async function allEvents(events: AsyncIterable<SentEvent>): Promise<SentEvent[]> {
  const all: SentEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}
