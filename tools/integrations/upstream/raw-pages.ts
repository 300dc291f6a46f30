import type { Client } from '@modelcontextprotocol/client';
import { z } from 'zod';

export const MOST_PAGES = 20;
const MOST_LISTED = 1000;

/** The lists of a server: the method, and the member of its answer that holds the items. */
export const LISTS = {
  tools: { method: 'tools/list', member: 'tools' },
  prompts: { method: 'prompts/list', member: 'prompts' },
  resources: { method: 'resources/list', member: 'resources' },
  templates: { method: 'resources/templates/list', member: 'resourceTemplates' },
} as const;
type List = (typeof LISTS)[keyof typeof LISTS];

export interface RawPage {
  readonly items: readonly unknown[];
  readonly nextCursor: string | undefined;
}

interface PageRequest {
  readonly cursor: string | undefined;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

/** One page of a list, with its items unchanged. */
export async function onePage(
  client: Client,
  { method, member }: List,
  { cursor, signal, timeoutMs }: PageRequest,
): Promise<RawPage> {
  const request = { method, params: cursor === undefined ? {} : { cursor } };
  const schema = z.looseObject({ [member]: z.array(z.unknown()), nextCursor: z.string().optional() });
  const { [member]: items, nextCursor } = await client.request(request, schema, { signal, timeout: timeoutMs });
  // The schema says so, by a name that the compiler does not know.
  return { items: items as unknown[], nextCursor: nextCursor as string | undefined };
}

/** The whole list. Of an endless one, the beginning. */
export async function allPages(client: Client, list: List, timeoutMs: number): Promise<unknown[]> {
  const items: unknown[] = [];
  const signal = AbortSignal.timeout(timeoutMs);
  let cursor: string | undefined;
  for (let page = 0; page < MOST_PAGES && items.length < MOST_LISTED; page++) {
    const listed = await onePage(client, list, { cursor, signal, timeoutMs });
    items.push(...listed.items);
    if (listed.nextCursor === undefined || listed.nextCursor === cursor) return items;
    cursor = listed.nextCursor;
  }
  return items.slice(0, MOST_LISTED);
}
