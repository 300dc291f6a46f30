import { isSchemaObject } from './schema.ts';

const KEYWORD = 'x-mcp-header';
const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/;
const TYPES: readonly unknown[] = ['string', 'integer', 'boolean'];
/** Keywords that hold a schema for each name. */
const MAPS: readonly string[] = ['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions'];
/** Keywords that hold values, not schemas. */
const VALUES: readonly string[] = ['default', 'examples', 'const', 'enum'];

/**
 * Why a tool must not be offered: its schema names HTTP headers for arguments against the rules of revision 2026-07-28, under
 * "Schema Extension" of its Streamable HTTP transport. Undefined if it may be offered.
 */
export function headerProblem(inputSchema: unknown): string | undefined {
  return problemIn(inputSchema, { isArgument: false, isReachable: true, taken: new Set() });
}

interface Position {
  readonly isArgument: boolean;
  /** Whether the way here leads through `properties` only. */
  readonly isReachable: boolean;
  readonly taken: Set<string>;
}

function problemIn(schema: unknown, position: Position): string | undefined {
  if (!isSchemaObject(schema)) return undefined;
  const own = Object.hasOwn(schema, KEYWORD) ? problemOf(schema, position) : undefined;
  if (own !== undefined) return own;
  for (const [keyword, value] of Object.entries(schema)) {
    if (VALUES.includes(keyword)) continue;
    const isReachable = position.isReachable && keyword === 'properties';
    for (const each of schemasIn(keyword, value)) {
      const problem = problemIn(each, { ...position, isArgument: isReachable, isReachable });
      if (problem !== undefined) return problem;
    }
  }
  return undefined;
}

function schemasIn(keyword: string, value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  return MAPS.includes(keyword) && isSchemaObject(value) ? Object.values(value) : [value];
}

function problemOf({ [KEYWORD]: name, type }: Record<string, unknown>, { isArgument, taken }: Position) {
  if (!isArgument) return `${KEYWORD} is only for arguments, also nested ones, that stand in properties`;
  if (typeof name !== 'string' || !TOKEN.test(name)) return `an ${KEYWORD} is not the name of a header`;
  if (!TYPES.includes(type)) return `${KEYWORD} is only for arguments of the type string, integer or boolean`;
  if (taken.has(name.toLowerCase())) return `two arguments have the ${KEYWORD} ${name}`;
  taken.add(name.toLowerCase());
  return undefined;
}
