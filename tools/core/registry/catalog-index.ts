import { nearest } from '../access/similar-names.ts';
import { ToolError } from '../errors.ts';
import type { Tool } from './tool.ts';

/** A tool with the group it is shown under. */
export interface CatalogEntry {
  readonly group: string;
  readonly tool: Tool;
}

/** All tools, in a fixed order, found by name. */
export interface Catalog {
  /** Grows with each change, so that what was made from the entries can be made again. */
  readonly version: number;
  readonly entries: readonly CatalogEntry[];
  get(name: string): CatalogEntry | undefined;
}

export function indexCatalog(entries: readonly CatalogEntry[]): Catalog {
  const byName = new Map(entries.map((entry) => [entry.tool.name, entry]));
  if (byName.size !== entries.length) throw new Error('Two tools of the catalog have the same name.');
  return { version: 0, entries, get: (name) => byName.get(name) };
}

/** The error names only tools that the caller sees. */
export function unknownTool(name: string, visible: readonly CatalogEntry[]): ToolError {
  const names = visible.map(({ tool }) => tool.name);
  const close = nearest(name, names, 3);
  const hint = close.length > 0 ? `Similar names: ${close.join(', ')}.` : 'tools/list shows the tools there are.';
  return new ToolError('not_found', `There is no tool with this name. ${hint}`);
}
