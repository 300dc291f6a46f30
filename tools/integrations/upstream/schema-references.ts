import type { JsonSchema } from '../../core/registry/json-schema.ts';

/** The schema that a reference of the form `#/a/b` or `#name` refers to. */
export function resolve(root: JsonSchema, reference: string): unknown {
  if (!/^#(?:\/|$)/.test(reference)) return namedIn(root).byName.get(reference.slice(1));
  const steps = reference
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  return steps.reduce<unknown>(
    (at, step) =>
      typeof at === 'object' && at !== null && Object.hasOwn(at, step) ? (at as JsonSchema)[step] : undefined,
    root,
  );
}

/** A name that two schemas inside the schema have. */
export function repeatedName(root: JsonSchema): string | undefined {
  return namedIn(root).repeated;
}

export function referencesIn(root: JsonSchema): string[] {
  return schemasIn(root)
    .flatMap(({ $ref, $dynamicRef }) => [$ref, $dynamicRef])
    .filter((reference) => typeof reference === 'string');
}

export function isSchemaObject(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

interface Named {
  readonly byName: ReadonlyMap<string, JsonSchema>;
  readonly repeated: string | undefined;
}

const known = new WeakMap<JsonSchema, Named>();

/** Computed once for each schema. */
function namedIn(root: JsonSchema): Named {
  const found = known.get(root);
  if (found) return found;
  const byName = new Map<string, JsonSchema>();
  let repeated: string | undefined;
  for (const schema of schemasIn(root)) {
    for (const name of [schema.$anchor, schema.$dynamicAnchor]) {
      if (typeof name !== 'string') continue;
      if (byName.has(name)) repeated = name;
      byName.set(name, schema);
    }
  }
  const named = { byName, repeated };
  known.set(root, named);
  return named;
}

/** Keywords whose members are schemas under names that the schema chooses. */
const MAPS = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas', 'dependencies'];
/** Keywords whose values are not schemas. */
const VALUES = ['enum', 'const', 'default', 'examples'];

/** The schema and all schemas inside it. */
function schemasIn(root: JsonSchema): JsonSchema[] {
  const found: JsonSchema[] = [];
  const open: unknown[] = [root];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (!isSchemaObject(node)) continue;
    found.push(node);
    for (const [keyword, value] of Object.entries(node)) {
      if (Array.isArray(value) && !VALUES.includes(keyword)) open.push(...value);
      else if (MAPS.includes(keyword) && isSchemaObject(value)) open.push(...Object.values(value));
      else if (!VALUES.includes(keyword)) open.push(value);
    }
  }
  return found;
}
