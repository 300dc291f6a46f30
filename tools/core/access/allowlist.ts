import { oncePer } from '../once-per.ts';
import type { GuardedTool, ToolLimit } from './guarded-tool.ts';
import { type GuardedCatalog, type GuardedEntry, isListed } from './guarded-tool.ts';
import type { Principal } from './principal.ts';
import { mayDelegate } from './reach.ts';
import { similarNames } from './similar-names.ts';

export function matchEntry(entry: string, catalog: GuardedCatalog): readonly GuardedEntry[] {
  const matches = matcherOf(entry);
  return catalog.entries.filter(({ tool }) => matches(tool));
}

/** What a change of the tools that somebody may call comes to. */
export function gainedAndLost(before: ReadonlySet<string>, after: ReadonlySet<string>) {
  return {
    gained: [...after].filter((name) => !before.has(name)),
    lost: [...before].filter((name) => !after.has(name)),
  };
}

/** The first of the entries that matches the tool. */
export function entryFor(tool: GuardedTool, entries: readonly string[]): string | undefined {
  return entries.find((entry) => matcherOf(entry)(tool));
}

/** The limit that an allowlist sets. Without entries there is no tool, and an entry of `denied` beats any of `allowed`. */
export function allowlistLimit(holder: string, allowed: readonly string[], denied: readonly string[] = []): ToolLimit {
  const allows = allowed.map(matcherOf);
  const denies = denied.map(globMatcher);
  return {
    holder,
    fingerprint: JSON.stringify([allowed, denied]),
    allows: oncePer(
      (tool: GuardedTool) => allows.some((matches) => matches(tool)) && !denies.some((matches) => matches(tool.name)),
    ),
    deniedBy: ({ name }) => denied.find((_, index) => denies[index]?.(name)),
  };
}

/** A glob never matches tools that need `admin`, nor those of an integration unless it names the integration (`github__*`). */
function matcherOf(entry: string): (tool: GuardedTool) => boolean {
  const matches = globMatcher(entry);
  return (tool) =>
    (isListed(tool) || tool.serves !== undefined) && matches(tool.name) && !integrationBoundary(entry, tool);
}

/** Why an entry does not match the tool although its pattern fits the tool's name. */
export function integrationBoundary(entry: string, tool: GuardedTool): 'admin' | 'guest' | undefined {
  if (!isGlob(entry)) return undefined;
  if (needsAdmin(tool)) return 'admin';
  if (!tool.guest && !isGuest(tool.name)) return undefined;
  return isGuest(tool.name) && isGuest(entry) ? undefined : 'guest';
}

export function isGlob(entry: string): boolean {
  return entry.includes('*');
}

/** Whether the name or entry is for a tool of an integration with a prefix (`<prefix>__<tool>`). */
export function isGuest(name: string): boolean {
  return name.includes('__');
}

/** A sentence for each entry that matches no tool now, with the most similar names. */
export function allowlistWarnings(entries: readonly string[] | undefined, catalog: GuardedCatalog): string[] {
  const idle = (entries ?? []).filter((entry) => !reachesAny(entry, catalog));
  if (idle.length === 0) return [];
  const similar = similarNames(catalog);
  return idle.map((entry) => noneMatches(entry, similar(entry)));
}

export function noneMatches(entry: string, similar: readonly string[]): string {
  return `"${entry}" matches no tool now${similar.length > 0 ? `; similar names: ${similar.join(', ')}` : ''}.`;
}

/** Whether `matchEntry` returns any tool. Every answer with an allowlist asks this for each entry. */
function reachesAny(entry: string, catalog: GuardedCatalog): boolean {
  const matches = matcherOf(entry);
  if (isGlob(entry)) return catalog.entries.some(({ tool }) => matches(tool));
  const named = catalog.get(entry);
  return named !== undefined && matches(named.tool);
}

/** The first tool of the entries that the principal may not hand out: it may not call it, or only for some records. */
export function firstExceeding(
  entries: readonly string[],
  catalog: GuardedCatalog,
  principal: Principal,
): GuardedTool | undefined {
  const isBeyond = oncePer((tool: GuardedTool) => !mayDelegate(principal, tool));
  for (const entry of entries) {
    const beyond = matchEntry(entry, catalog).find(({ tool }) => isBeyond(tool));
    if (beyond) return beyond.tool;
  }
  return undefined;
}

function needsAdmin({ access }: GuardedTool): boolean {
  return 'among' in access ? access.among.every(({ scope }) => scope === 'admin') : access.scope === 'admin';
}

/** `*` stands for any characters. The time is linear in the length of the name, whatever the pattern. */
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
