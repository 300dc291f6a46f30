import type { Tool as UpstreamTool } from '@modelcontextprotocol/client';
import type { IntegrationRecord, ToolDefinition } from '../../../resources/integration.ts';
import type { Scrubber } from '../../core/outbound/untrusted-text.ts';
import { type Connection, LISTS, type List } from './connection.ts';
import { type Extras, LISTED, NO_EXTRAS, readPrompts, readTemplates } from './extras.ts';
import { type Listing, readListing } from './tool-definitions.ts';

/** What a server lists over a connection. Servers may list something else to each account. */
export interface ListedTools {
  readonly listing: Listing;
  readonly tools: ReadonlyMap<string, UpstreamTool>;
  readonly extras: Extras;
}

const LIST_MS = 30_000;

export async function listTools(
  connection: Connection,
  { timeoutMs, toolPrefix }: IntegrationRecord,
  scrubber: Scrubber,
): Promise<ListedTools> {
  const { tools } = connection.offers;
  const raw = tools ? await allPages(connection, LISTS.tools, Math.max(LIST_MS, timeoutMs)) : [];
  const listing = readListing(raw, { prefix: toolPrefix, headerArguments: connection.headerArguments }, scrubber);
  const names = new Set(listing.definitions.map(({ name }) => name));
  // Each name was read from an object with a schema. Of several tools with the same name, the first counts.
  const offered = (raw as (UpstreamTool | null)[]).filter(
    (tool) => tool !== null && names.has(tool.name),
  ) as UpstreamTool[];
  const extras = await extrasOver(connection, scrubber, timeoutMs);
  return { listing, tools: new Map(offered.reverse().map((tool) => [tool.name, tool])), extras };
}

/** A server that cannot list what it declares keeps its tools. */
async function extrasOver(connection: Connection, scrubber: Scrubber, timeoutMs: number): Promise<Extras> {
  const ask = (list: List) => allPages(connection, list, timeoutMs).catch(() => []);
  const prompts = connection.offers.prompts ? readPrompts(await ask(LISTS.prompts), scrubber) : [];
  if (!connection.offers.resources) return { ...NO_EXTRAS, prompts };
  return {
    prompts,
    resources: [{ uriTemplate: LISTED, hash: LISTED }, ...readTemplates(await ask(LISTS.templates), scrubber)],
  };
}

export const MOST_PAGES = 20;
const MOST_LISTED = 1000;

/** The whole list. Of an endless one, the beginning. */
async function allPages(connection: Connection, list: List, timeoutMs: number): Promise<unknown[]> {
  const items: unknown[] = [];
  const signal = AbortSignal.timeout(timeoutMs);
  let cursor: string | undefined;
  for (let page = 0; page < MOST_PAGES && items.length < MOST_LISTED; page++) {
    const listed = await connection.page(list, { cursor, signal, timeoutMs });
    items.push(...listed.items);
    if (listed.nextCursor === undefined || listed.nextCursor === cursor) return items;
    cursor = listed.nextCursor;
  }
  return items.slice(0, MOST_LISTED);
}

/** The tool, if the server lists it in this form. */
export function listedTool({ listing, tools }: ListedTools, { name, hash }: ToolDefinition): UpstreamTool | undefined {
  const isSame = listing.definitions.some((other) => other.name === name && other.hash === hash);
  return isSame ? tools.get(name) : undefined;
}
