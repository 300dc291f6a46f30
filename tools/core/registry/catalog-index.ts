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
  const others = names.includes('search_tools')
    ? 'search_tools {"q": "..."} finds tools.'
    : 'tools/list shows the tools there are.';
  const hint = close.length > 0 ? `Similar names: ${close.join(', ')}.` : others;
  return new ToolError('not_found', `There is no tool with this name. ${hint}`);
}

/** The tools of a running server: its own, which stay, and those of other servers, which come and go. */
export class LiveCatalog implements Catalog {
  readonly #own: Catalog;
  readonly #guests = new Map<string, readonly CatalogEntry[]>();
  readonly #listeners: (() => void)[] = [];
  #entries: readonly CatalogEntry[];
  #byName: ReadonlyMap<string, CatalogEntry>;
  #sourcesByName: ReadonlyMap<string, string> = new Map();
  #version: number;

  constructor(own: Catalog) {
    this.#own = own;
    this.#entries = own.entries;
    this.#byName = byNameOf(own.entries);
    this.#version = own.version;
  }

  get version(): number {
    return this.#version;
  }

  /** Own tools first, then those of each source in the order of the sources' names. Another array after each change. */
  get entries(): readonly CatalogEntry[] {
    return this.#entries;
  }

  get(name: string): CatalogEntry | undefined {
    return this.#byName.get(name);
  }

  holderOf(name: string): { readonly own: true } | { readonly source: string } | undefined {
    if (this.#own.get(name)) return { own: true };
    const source = this.#sourcesByName.get(name);
    return source === undefined ? undefined : { source };
  }

  /** Replaces the tools of the source by these. @throws if a name is taken; nothing changes then */
  put(source: string, entries: readonly CatalogEntry[]): void {
    const before = this.#guests.get(source) ?? [];
    if (before.length === entries.length && before.every((entry, index) => entry === entries[index])) return;
    const names = entries.map(({ tool }) => tool.name);
    const taken = (name: string, index: number) => names.indexOf(name) !== index || this.#isTaken(name, before);
    if (names.some(taken)) throw new Error(`A tool of ${source} has a name that another one has.`);
    if (entries.length > 0) this.#guests.set(source, entries);
    else this.#guests.delete(source);
    const guests = [...this.#guests].sort(([one], [other]) => (one < other ? -1 : 1)).flatMap(([, group]) => group);
    this.#sourcesByName = new Map(
      [...this.#guests].flatMap(([holder, group]) => group.map(({ tool }) => [tool.name, holder] as const)),
    );
    this.#entries = [...this.#own.entries, ...guests];
    this.#byName = byNameOf(this.#entries);
    this.#version += 1;
    for (const listener of this.#listeners) listener();
  }

  #isTaken(name: string, before: readonly CatalogEntry[]): boolean {
    const known = this.get(name);
    return known !== undefined && !before.includes(known);
  }

  /** Calls the listener after each change, for as long as the catalog lives. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }
}

function byNameOf(entries: readonly CatalogEntry[]): ReadonlyMap<string, CatalogEntry> {
  return new Map(entries.map((entry) => [entry.tool.name, entry]));
}
