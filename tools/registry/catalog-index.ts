import leven from 'leven';
import type { GuardedTool } from '../access/guarded-tool.ts';
import { ToolError } from './errors.ts';
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

/** Whether lists and allowlists know the tool. */
export function isListed({ doorOnly, discovery, serves }: GuardedTool): boolean {
  return !doorOnly && !discovery && !serves;
}

export function indexCatalog(entries: readonly CatalogEntry[]): Catalog {
  const byName = new Map(entries.map((entry) => [entry.tool.name, entry]));
  if (byName.size !== entries.length) throw new Error('Two tools of the catalog have the same name.');
  return { version: 0, entries, get: (name) => byName.get(name) };
}

/** The candidates most similar to a name that is not among them. Candidates that differ in more than half of it, or wholly, are left out. */
export function nearest(name: string, candidates: readonly string[], count: number): string[] {
  if (name.length > 100) return [];
  const maxDistance = Math.max(2, Math.floor(name.length / 2));
  return candidates
    .map((candidate) => ({ candidate, distance: leven(name, candidate, { maxDistance: maxDistance + 1 }) }))
    .filter(({ candidate, distance }) => distance <= maxDistance && distance < Math.max(name.length, candidate.length))
    .sort((a, b) => a.distance - b.distance)
    .slice(0, count)
    .map(({ candidate }) => candidate);
}

/** Names for which similar ones are looked for: each is compared with every name of the catalog. */
const MOST_COMPARED = 20;

/** Finds the listed tools that are called like a name that none has; of many such names, like the first ones. */
export function similarNames({ entries }: Catalog): (name: string) => readonly string[] {
  const names = entries.filter(({ tool }) => isListed(tool)).map(({ tool }) => tool.name);
  let compared = 0;
  return (name) => {
    compared += 1;
    return compared > MOST_COMPARED ? [] : nearest(name, names, 3);
  };
}

/** The error names only tools that the caller sees. */
export function unknownTool(name: string, visible: readonly CatalogEntry[]): ToolError {
  const names = visible.map(({ tool }) => tool.name);
  const close = nearest(name, names, 3);
  const hint = close.length > 0 ? `Similar names: ${close.join(', ')}.` : 'tools/list shows the tools there are.';
  return new ToolError('not_found', `There is no tool with this name. ${hint}`);
}
