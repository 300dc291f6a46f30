import type { Tool as UpstreamTool } from '@modelcontextprotocol/client';
import type { IntegrationRecord, ToolDefinition } from '../../../resources/integration.ts';
import type { Connection } from './connection.ts';
import { type Extras, LISTED, NO_EXTRAS, readPrompts, readTemplates } from './extras.ts';
import type { Scrubber } from './text.ts';
import { type Listing, readListing } from './tool-definitions.ts';

/** What a server lists over a connection. Servers may list something else to each account. */
export interface ListedTools {
  readonly listing: Listing;
  /** The tools that can be offered, as the server defines them. */
  readonly tools: ReadonlyMap<string, UpstreamTool>;
  readonly extras: Extras;
}

const LIST_MS = 30_000;

export async function listTools(
  connection: Connection,
  { timeoutMs, toolPrefix }: IntegrationRecord,
  scrubber: Scrubber,
): Promise<ListedTools> {
  const raw = await connection.list(Math.max(LIST_MS, timeoutMs));
  const listing = readListing(raw, toolPrefix, scrubber);
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
  const { hasPrompts, hasResources } = connection;
  const ask = (what: 'prompts' | 'templates') => connection.listExtras(what, timeoutMs).catch(() => []);
  const prompts = hasPrompts ? readPrompts(await ask('prompts'), scrubber) : [];
  if (!hasResources) return { ...NO_EXTRAS, prompts };
  return {
    prompts,
    resources: [{ uriTemplate: LISTED, hash: LISTED }, ...readTemplates(await ask('templates'), scrubber)],
  };
}

/** The tool, if the server lists it in this form. */
export function listedTool({ listing, tools }: ListedTools, { name, hash }: ToolDefinition): UpstreamTool | undefined {
  const isSame = listing.definitions.some((other) => other.name === name && other.hash === hash);
  return isSame ? tools.get(name) : undefined;
}
