import { z } from 'zod';
import { globMatcher, integrationBoundary, isGlob, noneMatches } from '../core/access/allowlist.ts';
import { askFirstWarnings } from '../core/access/ask-first.ts';
import { type CapsuleDefinition, canBeInCapsule, reachOfCapsule } from '../core/access/capsule-principal.ts';
import { isListed } from '../core/access/guarded-tool.ts';
import { seesTool } from '../core/access/reach.ts';
import { similarNames } from '../core/access/similar-names.ts';
import type { Catalog } from '../core/registry/catalog-index.ts';
import type { Tool } from '../core/registry/define-tool.ts';
import { constraintIssues } from './capsule-definition.ts';

export const entryVerdict = z.object({
  list: z.enum(['allowedTools', 'deniedTools']),
  entry: z.string(),
  tools: z
    .array(
      z.object({
        name: z.string(),
        served: z.boolean(),
        rule: z.string().describe('What decided.'),
        narrowed: z.string().optional().describe('Which other constraints leave it fewer records.'),
      }),
    )
    .describe('The tools it matches.'),
});
type JudgedTool = z.infer<typeof entryVerdict>['tools'][number];
type EntryVerdict = z.infer<typeof entryVerdict>;

const NAMED = 'allowed by name';
const BY_GLOB = 'allowed by a glob';
const NEVER = 'can never be in a capsule';
const BARRED = {
  admin: 'needs admin, so it must be named',
  guest: 'is of an integration, so a glob must begin with its prefix and __; without a prefix it must be named',
};
const NO_RECORDS = 'works on records that no other tool of the capsule reads or writes; allow such a tool too';

/** Every entry with the tools that it matches and, for each tool, the rule that decides whether the capsule serves it. */
export function verdictsOf(definition: CapsuleDefinition, catalog: Catalog): EntryVerdict[] {
  const reach = reachOfCapsule(definition, catalog);
  const tools = catalog.entries.map(({ tool }) => tool).filter(isListed);
  const denials = definition.deniedTools.map((entry) => ({ entry, matches: globMatcher(entry) }));

  const standings = new Map(tools.map((tool) => [tool.name, verdictFor(tool)]));

  /** What holds for a tool by whatever entry it is matched. */
  function verdictFor(tool: Tool) {
    const denial = denials.find(({ matches }) => matches(tool.name));
    const narrowed = reach.tools.narrowed?.(tool);
    return {
      refused: canBeInCapsule(tool) ? denial && `denied by ${denial.entry}` : NEVER,
      unreached: seesTool(reach, tool) ? undefined : (narrowed ?? NO_RECORDS),
      narrowed,
    };
  }

  function judge(tool: Tool, entry: string): JudgedTool {
    const { refused, unreached, narrowed } = standings.get(tool.name) ?? verdictFor(tool);
    const barred = integrationBoundary(entry, tool);
    const rule = refused ?? (barred ? BARRED[barred] : unreached);
    if (rule !== undefined) return { name: tool.name, served: false, rule };
    const allowing = isGlob(entry) ? BY_GLOB : NAMED;
    return { name: tool.name, served: true, rule: allowing, ...(narrowed !== undefined && { narrowed }) };
  }

  const allowed = definition.allowedTools.map((entry): EntryVerdict => {
    const matches = globMatcher(entry);
    const matched = tools.filter(({ name }) => matches(name));
    return { list: 'allowedTools', entry, tools: matched.map((tool) => judge(tool, entry)) };
  });
  const denied = denials.map(({ entry, matches }): EntryVerdict => {
    const matched = tools.filter(({ name }) => matches(name));
    return { list: 'deniedTools', entry, tools: matched.map(({ name }) => ({ name, served: false, rule: 'denied' })) };
  });
  return [...allowed, ...denied];
}

/** A sentence for each entry and constraint that has no effect now, with the reason or the most similar names. */
export function warningsOf(capsule: CapsuleDefinition, catalog: Catalog): string[] {
  const verdicts = verdictsOf(capsule, catalog);
  const served = new Set(verdicts.flatMap(({ tools }) => tools.flatMap((tool) => (tool.served ? tool.name : []))));
  const similar = similarNames(catalog);
  const idle = Object.keys(capsule.constraints ?? {}).filter((name) => catalog.get(name) && !served.has(name));
  return [
    ...verdicts.flatMap((verdict) => entryWarning(verdict, similar) ?? []),
    ...askFirstWarnings(capsule.askFirst, catalog),
    ...idle.map((name) => `constraints fixes arguments of ${name}, which the capsule does not serve.`),
    ...constraintIssues(capsule.constraints, catalog).map(({ path, message }) => `${path}: ${message}`),
  ];
}

const MOST_NAMED = 5;

function entryWarning(
  { list, entry, tools }: EntryVerdict,
  similar: (entry: string) => readonly string[],
): string | undefined {
  if (tools.length === 0) return noneMatches(entry, similar(entry));
  if (list === 'deniedTools' || tools.some(({ served }) => served)) return undefined;
  const reasons = tools.slice(0, MOST_NAMED).map(({ name, rule }) => `${name} ${rule}`);
  return `"${entry}" adds no tool: ${reasons.join(', ')}${tools.length > MOST_NAMED ? ' and more' : ''}.`;
}
