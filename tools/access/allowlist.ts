import { type Catalog, type CatalogEntry, isListed, nearest } from '../registry/catalog-index.ts';
import type { Tool } from '../registry/define-tool.ts';
import type { Principal } from './principal.ts';
import { reachesWholly } from './reach.ts';
import type { ToolLimit } from './tool-limit.ts';

/** The tools an allowlist entry reaches. */
export function matchEntry(entry: string, catalog: Catalog): readonly CatalogEntry[] {
  const matches = matcherOf(entry);
  return catalog.entries.filter(({ tool }) => matches(tool));
}

/** The limit of an allowlist. No entry, no tool; an entry of `denied` beats any of `allowed`. */
export function allowlistLimit(holder: string, allowed: readonly string[], denied: readonly string[] = []): ToolLimit {
  const allows = allowed.map(matcherOf);
  const denies = denied.map(globMatcher);
  return {
    holder,
    fingerprint: JSON.stringify([allowed, denied]),
    allows: judgedOnce(
      (tool) => allows.some((matches) => matches(tool)) && !denies.some((matches) => matches(tool.name)),
    ),
  };
}

/** The same verdicts, each found once: what a limit says of a tool never changes, and each call asks for it. */
export function judgedOnce(judge: (tool: Tool) => boolean): (tool: Tool) => boolean {
  const verdicts = new WeakMap<Tool, boolean>();
  return (tool) => {
    let verdict = verdicts.get(tool);
    if (verdict === undefined) {
      verdict = judge(tool);
      verdicts.set(tool, verdict);
    }
    return verdict;
  };
}

/**
 * A glob (`list_*`) never reaches tools that need `admin`, which are named one by one, and those of integrations only where it says so
 * (`github__*`): else each new integration would be in whatever has a `*`.
 */
function matcherOf(entry: string): (tool: Tool) => boolean {
  const matches = globMatcher(entry);
  return (tool) => isListed(tool) && matches(tool.name) && !barrier(entry, tool);
}

/** Why an entry whose form fits the name of a tool does not reach it. */
export function barrier(entry: string, tool: Tool): 'admin' | 'guest' | undefined {
  if (!isGlob(entry)) return undefined;
  if (needsAdmin(tool)) return 'admin';
  if (!tool.guest && !isGuest(tool.name)) return undefined;
  return isGuest(tool.name) && isGuest(entry) ? undefined : 'guest';
}

export function isGlob(entry: string): boolean {
  return entry.includes('*');
}

/** Whether the name, or what an entry means, is a tool of an integration that has a prefix (`<prefix>__<tool>`). */
export function isGuest(name: string): boolean {
  return name.includes('__');
}

/** A sentence for each entry that reaches no tool now, with the names most like it. */
export function allowlistWarnings(entries: readonly string[] | undefined, catalog: Catalog): string[] {
  const idle = (entries ?? []).filter((entry) => !reachesAny(entry, catalog));
  if (idle.length === 0) return [];
  const names = catalog.entries.filter(({ tool }) => isListed(tool)).map(({ tool }) => tool.name);
  return idle.map((entry) => {
    const close = nearest(entry, names, 3);
    return `"${entry}" matches no tool now${close.length > 0 ? `; similar names: ${close.join(', ')}` : ''}.`;
  });
}

/** Whether `matchEntry` gives any tool; every answer with an allowlist asks for each of its entries. */
function reachesAny(entry: string, catalog: Catalog): boolean {
  const matches = matcherOf(entry);
  if (isGlob(entry)) return catalog.entries.some(({ tool }) => matches(tool));
  const named = catalog.get(entry);
  return named !== undefined && matches(named.tool);
}

/** The first tool that the entries reach and the principal may not call, or only for single records. */
export function firstBeyond(entries: readonly string[], catalog: Catalog, principal: Principal): Tool | undefined {
  for (const entry of entries) {
    const beyond = matchEntry(entry, catalog).find(({ tool }) => !reachesWholly(principal, tool));
    if (beyond) return beyond.tool;
  }
  return undefined;
}

function needsAdmin({ access }: Tool): boolean {
  return 'among' in access ? access.among.every(({ scope }) => scope === 'admin') : access.scope === 'admin';
}

/** `*` stands for any run of characters; linear in the length of the name, whatever the pattern. */
export function globMatcher(glob: string): (name: string) => boolean {
  const [start = '', ...rest] = glob.split(/\*+/);
  const end = rest.pop();
  return (name) => {
    if (end === undefined) return name === start;
    if (name.length < start.length + end.length || !name.startsWith(start) || !name.endsWith(end)) return false;
    let from = start.length;
    const until = name.length - end.length;
    for (const part of rest) {
      const found = name.indexOf(part, from);
      if (found < 0 || found + part.length > until) return false;
      from = found + part.length;
    }
    return true;
  };
}
