import { z } from 'zod';
import type { CapsuleRecord } from '../../resources/capsule.ts';
import type { Issue } from '../../resources/error.ts';
import { type CapsuleDefinition, canBeInCapsule } from '../core/access/capsule-principal.ts';
import { isListed } from '../core/access/guarded-tool.ts';
import { similarNames } from '../core/access/similar-names.ts';
import { requireNoIssues } from '../core/errors.ts';
import { secretsIn } from '../core/history/redact.ts';
import type { Catalog } from '../core/registry/catalog-index.ts';
import type { Tool } from '../core/registry/define-tool.ts';
import { formatPath, inputIssues, isAtOrIn } from '../core/registry/validate.ts';

/** The members of a capsule that a call writes. */
type Written = Pick<CapsuleDefinition, 'allowedTools' | 'constraints'>;

/** Checks what is written. An entry for a tool that is away is not an error. @throws ToolError that names all problems */
export function requireDefinition({ allowedTools, constraints }: Written, catalog: Catalog): void {
  const issues = allowedTools.flatMap((entry, index): Issue[] => {
    const tool = catalog.get(entry)?.tool;
    if (!tool || canBeInCapsule(tool)) return [];
    return [{ path: `allowedTools[${index}]`, message: `${entry} can never be in a capsule; leave it out.` }];
  });
  issues.push(...constraintIssues(constraints, catalog));
  requireNoIssues(issues);
}

/** The constraints that changed. Unchanged ones are not checked again, because their tool may be away. */
export function changedConstraints(
  { constraints: current = {} }: { readonly constraints?: CapsuleRecord['constraints'] | undefined },
  constraints: CapsuleRecord['constraints'] | null,
): CapsuleRecord['constraints'] {
  const changed = Object.entries(constraints ?? {}).filter(
    ([tool, fixed]) => JSON.stringify(fixed) !== JSON.stringify(current[tool]),
  );
  return Object.fromEntries(changed);
}

/** Problems that would make every call of a tool with these fixed arguments fail. */
export function constraintIssues(constraints: CapsuleRecord['constraints'], catalog: Catalog): Issue[] {
  const similar = similarNames(catalog);
  return Object.entries(constraints ?? {}).flatMap(([name, fixed]) => {
    const path = formatPath(['constraints', name]);
    const tool = catalog.get(name)?.tool;
    if (!tool || !isListed(tool))
      return [{ path, message: `There is no tool with this name now${hint(similar(name))}.` }];
    if (Object.keys(fixed).length === 0) return [{ path, message: 'Give an argument, or leave the tool out.' }];
    const wrong = valueIssues(tool, fixed);
    return wrong.length > 0 ? wrong : secretIssues(tool, fixed, catalog);
  });
}

/** Checks only the fixed arguments; callers give the others. */
function valueIssues({ name, input }: Tool, fixed: object): Issue[] {
  const places = Object.keys(fixed).map((argument) => ({
    argument,
    path: formatPath(['constraints', name, argument]),
  }));
  const issues = inputIssues(z.object({ constraints: z.object({ [name]: input }) }), {
    constraints: { [name]: fixed },
  });
  const found = issues.filter(({ path }) => places.some((place) => isAtOrIn(path, place.path)));
  // Tools of integrations may accept members that their schema does not name. A fixed argument with a misspelt name would limit nobody.
  const unknown = places.filter(
    ({ argument, path }) => !Object.hasOwn(input.shape, argument) && !found.some((issue) => issue.path === path),
  );
  const known = Object.keys(input.shape).join(', ') || 'none';
  const message = `There is no such argument; choose among: ${known}.`;
  return [...found, ...unknown.map(({ path }) => ({ path, message }))];
}

function secretIssues(tool: Tool, fixed: object, catalog: Catalog): Issue[] {
  return secretsIn(tool, fixed, catalog).map(({ path }) => ({
    path: formatPath(['constraints', tool.name, ...path]),
    message: 'A secret cannot be fixed.',
  }));
}

function hint(similar: readonly string[]): string {
  return similar.length > 0 ? `; similar names: ${similar.join(', ')}` : '';
}
