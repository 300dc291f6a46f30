import { z } from 'zod';
import { nearest } from '../core/access/similar-names.ts';
import type { Tool } from '../core/registry/define-tool.ts';
import { unwrap } from '../core/registry/validate.ts';

/** What Liquid knows of every list and text besides its members. */
const OF_LISTS = ['first', 'last'];
const SIZE = 'size';

/** Why a path below the output of a tool leads nowhere, whatever the tool answers. Undefined if it may lead somewhere. */
export function outputProblem(tool: Tool, path: readonly (string | undefined)[], place: string): string | undefined {
  // Such a tool answers with the output of the tool it calls.
  if (tool.delegatesTo || tool.answersContent) return undefined;
  let schemas: readonly z.ZodType[] = [tool.output];
  let before = place;
  for (const part of path) {
    const known = schemas.flatMap(alternativesOf);
    const next = part === undefined ? 'any' : below(known, part);
    if (next === 'any') return undefined;
    if (next.length === 0) return `${before} has no "${part}"; ${hint(known, part ?? '')}`;
    schemas = next;
    before = `${before}.${part}`;
  }
  return undefined;
}

function hint(schemas: readonly z.ZodType[], part: string): string {
  const names = schemas.flatMap((schema) => (schema instanceof z.ZodObject ? Object.keys(schema.shape) : []));
  if (names.length === 0) return 'it has no members.';
  const [match] = nearest(part, names, 1);
  return match ? `did you mean "${match}"?` : `it has ${names.join(', ')}.`;
}

/** The schemas of the member in all alternatives that have it. */
function below(schemas: readonly z.ZodType[], part: string): readonly z.ZodType[] | 'any' {
  const found: z.ZodType[] = [];
  for (const schema of schemas) {
    const inner = memberOf(schema, part);
    if (inner === 'any') return 'any';
    if (inner) found.push(inner);
  }
  return found;
}

function memberOf(schema: z.ZodType, part: string): z.ZodType | 'any' | undefined {
  if (schema instanceof z.ZodObject) {
    const own = Object.hasOwn(schema.shape, part) ? (schema.shape[part] as z.ZodType) : undefined; // a shape holds schemas
    return own ?? (schema.def.catchall || part === SIZE ? 'any' : undefined);
  }
  if (schema instanceof z.ZodArray) {
    if (part === SIZE) return 'any';
    return /^-?\d+$/.test(part) || OF_LISTS.includes(part) ? (schema.element as z.ZodType) : undefined; // an array holds a schema
  }
  if (schema instanceof z.ZodString) return part === SIZE ? 'any' : undefined;
  const isPlain = [z.ZodNumber, z.ZodBoolean, z.ZodEnum, z.ZodLiteral, z.ZodNull].some(
    (kind) => schema instanceof kind,
  );
  return isPlain ? undefined : 'any';
}

function alternativesOf(schema: z.ZodType): readonly z.ZodType[] {
  const bare = unwrap(schema) as z.ZodType; // what a schema wraps is one
  if (bare instanceof z.ZodUnion) return bare.options.flatMap((option) => alternativesOf(option as z.ZodType)); // as above
  return [bare];
}
