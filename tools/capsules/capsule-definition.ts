import { z } from 'zod';
import type { CapsuleRecord } from '../../resources/capsule.ts';
import type { Issue } from '../../resources/error.ts';
import { type CapsuleDefinition, canBeInCapsule } from '../access/capsule-principal.ts';
import { requireWithin } from '../access/delegation.ts';
import type { Principal } from '../access/principal.ts';
import { FORBIDDEN } from '../access/reach.ts';
import { secretsIn } from '../audit/redact.ts';
import { type Catalog, isListed, similarNames } from '../registry/catalog-index.ts';
import type { Tool } from '../registry/define-tool.ts';
import { ToolError } from '../registry/errors.ts';
import { formatPath, isAtOrIn, parseInput } from '../registry/validate.ts';

/** The members of a capsule that a call writes. */
type Written = Partial<Pick<CapsuleDefinition, 'allowedTools' | 'constraints'>>;

/** Checks what is written. An entry for a tool that is away is no error. @throws ToolError that names all problems */
export function requireDefinition({ allowedTools = [], constraints }: Written, catalog: Catalog): void {
  const issues = allowedTools.flatMap((entry, index): Issue[] => {
    const tool = catalog.get(entry)?.tool;
    if (!tool || canBeInCapsule(tool)) return [];
    return [{ path: `allowedTools[${index}]`, message: `${entry} can never be in a capsule; leave it out.` }];
  });
  issues.push(...constraintIssues(constraints, catalog));
  if (issues[0]) throw new ToolError('invalid_input', `${issues[0].path}: ${issues[0].message}`, { issues });
}

/**
 * What a capsule does that uses the accounts of its owner is changed, and its token replaced, by the owner alone: anybody else would reach
 * those accounts through it. @throws ToolError
 */
export function requireOwnAccounts(
  principal: Principal,
  { integrationAccounts, ownerId }: { readonly integrationAccounts?: string | undefined; readonly ownerId: string },
): void {
  if (integrationAccounts !== 'owner' || principal.ownerId === ownerId) return;
  const message = 'It uses the accounts of its owner, so only the owner changes what it does; give "none" to end that.';
  throw new ToolError('forbidden', FORBIDDEN, { issues: [{ path: 'integrationAccounts', message }] });
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
  const issues = problemsOf(z.object({ constraints: z.object({ [name]: input }) }), { constraints: { [name]: fixed } });
  const found = issues.filter(({ path }) => places.some((place) => isAtOrIn(path, place.path)));
  // Tools of integrations may accept members that their schema does not name. A fixed argument with a misspelt name would limit nobody.
  const unknown = places.filter(
    ({ argument, path }) => !Object.hasOwn(input.shape, argument) && !found.some((issue) => issue.path === path),
  );
  const known = Object.keys(input.shape).join(', ') || 'none';
  const message = `There is no such argument; choose among: ${known}.`;
  return [...found, ...unknown.map(({ path }) => ({ path, message }))];
}

function problemsOf(schema: z.ZodObject, input: object): readonly Issue[] {
  try {
    parseInput(schema, input);
    return [];
  } catch (thrown) {
    if (!(thrown instanceof ToolError)) throw thrown;
    return thrown.detail.issues ?? [];
  }
}

/** Secrets among the fixed arguments: everybody who reads the capsule would see them. */
function secretIssues(tool: Tool, fixed: object, catalog: Catalog): Issue[] {
  return secretsIn(tool, fixed, catalog).map(({ path }) => ({
    path: formatPath(['constraints', tool.name, ...path]),
    message: 'A secret cannot be fixed.',
  }));
}

export function hint(similar: readonly string[]): string {
  return similar.length > 0 ? `; similar names: ${similar.join(', ')}` : '';
}

/**
 * Nobody makes or changes a capsule, or gets its token, if it reaches more than they do. Globs and names of future tools could later reach
 * anything, whatever the rights of their writer, so they require full access.
 * @throws ToolError (forbidden)
 */
export function requireReach(principal: Principal, { allowedTools }: CapsuleDefinition, catalog: Catalog): void {
  requireWithin(principal, { tools: { entries: allowedTools, catalog } });
  if (principal.rights.isAdmin && !principal.tools) return;
  const issues = allowedTools.flatMap((entry, index) =>
    catalog.get(entry)
      ? []
      : [{ path: `allowedTools[${index}]`, message: `"${entry}" is not the name of a tool: ${ONE_BY_ONE}` }],
  );
  if (issues[0]) throw new ToolError('forbidden', 'Insufficient permissions', { required: { scope: 'admin' }, issues });
}

const ONE_BY_ONE = 'without full access, name the tools there are one by one, without globs.';
