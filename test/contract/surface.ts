import { describeEnvironment } from '../../facade/config/config.ts';
import { approvalRoutes, fileRoutes, metricsRoute, routes } from '../../facade/routes.ts';
import { catalog } from '../../tools/catalog.ts';
import { jsonSchema } from '../../tools/core/registry/json-schema.ts';

/** What others build upon: all that a new version may extend, and may take away only as a new major version. */
export interface Surface {
  readonly tools: Readonly<Record<string, { readonly input: Schema; readonly output: Schema }>>;
  /** The tool that each calls, as `GET /api/v1/agents`. */
  readonly routes: Readonly<Record<string, string>>;
  readonly environment: readonly string[];
}

export interface Schema {
  readonly type?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly enum?: readonly unknown[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly [keyword: string]: unknown;
}

export function surface(): Surface {
  const tools = catalog.entries.filter(({ tool }) => !tool.doorOnly).map(({ tool }) => tool);
  const paths = [...routes, ...fileRoutes, ...approvalRoutes, metricsRoute];
  return {
    tools: Object.fromEntries(
      tools.map(({ name, input, output }) => [
        name,
        { input: plain(jsonSchema(input, 'input') as Schema), output: plain(jsonSchema(output, 'output') as Schema) },
      ]),
    ),
    routes: Object.fromEntries(paths.map(({ method, path, tool }) => [`${method} ${path}`, tool])),
    environment: describeEnvironment().map(({ name }) => name),
  };
}

/** Without the words, which may change at any time. */
function plain({ description: _, title: __, examples: ___, $schema: ____, ...schema }: Schema): Schema {
  const { properties, items, anyOf, additionalProperties: more } = schema;
  return {
    ...schema,
    ...(properties && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, plain(one)])),
    }),
    ...(items && { items: plain(items) }),
    ...(anyOf && { anyOf: anyOf.map(plain) }),
    ...(isSchema(more) && { additionalProperties: plain(more) }),
  };
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null;
}

/** What of the earlier surface is refused, missing or different now, as `update_agent input.name: …`. */
export function breakingChanges(before: Surface, after: Surface): string[] {
  return [
    ...Object.entries(before.tools).flatMap(([name, { input, output }]) => {
      const now = after.tools[name];
      if (!now) return [`${name}: is gone`];
      return [...narrowed(input, now.input, `${name} input`), ...lost(output, now.output, `${name} output`)];
    }),
    ...Object.entries(before.routes).flatMap(([path, tool]) =>
      after.routes[path] === tool ? [] : [`${path}: ${after.routes[path] ? 'calls another tool' : 'is gone'}`],
    ),
    ...before.environment.filter((name) => !after.environment.includes(name)).map((name) => `${name}: is gone`),
  ];
}

/** @throws Error where a release takes something away and its version does not say so */
export function requireMajor(before: string, after: string, changes: readonly string[]): void {
  const [major = '0'] = before.split('.');
  if (changes.length === 0 || major === '0' || after.split('.')[0] !== major) return;
  throw new Error(`${after} must be ${Number(major) + 1}.0.0:\n${changes.join('\n')}`);
}

const LOWER = ['maximum', 'maxLength', 'maxItems', 'exclusiveMaximum'];
const HIGHER = ['minimum', 'minLength', 'minItems', 'exclusiveMinimum'];

/** Of these the words say what is taken; another one takes other values. */
const KINDS_OF_TEXT = ['pattern', 'format', 'multipleOf', 'uniqueItems'];

/** Inputs that were accepted and are not any more. */
function* narrowed(before: Schema, after: Schema, place: string): Generator<string> {
  if (before.anyOf || after.anyOf) return yield* narrowedForms(before, after, place);
  if (after.type !== undefined && (before.type === undefined || !covers(after.type, before.type)))
    yield `${place}: another type`;
  for (const keyword of KINDS_OF_TEXT)
    if (after[keyword] !== undefined && after[keyword] !== before[keyword]) yield `${place}: another ${keyword}`;
  const [open, stays] = [before.additionalProperties, after.additionalProperties];
  if (stays === false && open !== false && before.type === 'object') yield `${place}: takes no other members`;
  if (isSchema(open) && isSchema(stays)) yield* narrowed(open, stays, `${place}{}`);
  const missing = before.enum?.filter((value) => after.enum && !after.enum.includes(value)) ?? [];
  for (const value of missing) yield `${place}: no longer takes ${JSON.stringify(value)}`;
  if (after.enum && !before.enum) yield `${place}: takes few values only`;
  for (const [bounds, isTighter] of [
    [LOWER, (was: number, is: number) => is < was],
    [HIGHER, (was: number, is: number) => is > was],
  ] as const)
    for (const bound of bounds) {
      const [was, is] = [before[bound], after[bound]];
      if (typeof is === 'number' && (typeof was !== 'number' || isTighter(was, is)))
        yield `${place}: a tighter ${bound}`;
    }
  for (const name of after.required ?? [])
    if (!before.required?.includes(name)) yield `${place}.${name}: is required now`;
  for (const [name, member] of Object.entries(before.properties ?? {})) {
    const now = after.properties?.[name];
    if (now) yield* narrowed(member, now, `${place}.${name}`);
    else if (after.additionalProperties === false) yield `${place}.${name}: is gone`;
  }
  if (before.items && after.items) yield* narrowed(before.items, after.items, `${place}[]`);
}

/** Each form that there was must be taken by one that there is. */
function* narrowedForms(before: Schema, after: Schema, place: string): Generator<string> {
  const forms = after.anyOf ?? [after];
  for (const form of before.anyOf ?? [before])
    if (!forms.some((one) => [...narrowed(form, one, place)].length === 0)) yield `${place}: a form is gone`;
}

/** Members of answers that are not there any more, need not be there any more, or are of another type. */
function* lost(before: Schema, after: Schema, place: string): Generator<string> {
  if (before.anyOf || after.anyOf) return yield* newForms(before, after, place);
  if (before.type !== undefined && (after.type === undefined || !covers(before.type, after.type)))
    yield `${place}: another type`;
  for (const [name, member] of Object.entries(before.properties ?? {})) {
    const now = after.properties?.[name];
    if (!now) yield `${place}.${name}: is gone`;
    else yield* lost(member, now, `${place}.${name}`);
  }
  for (const name of before.required ?? [])
    if (after.properties?.[name] && !after.required?.includes(name)) yield `${place}.${name}: may be missing now`;
  if (before.items && after.items) yield* lost(before.items, after.items, `${place}[]`);
}

/** Each form that there is must be one that there was. */
function* newForms(before: Schema, after: Schema, place: string): Generator<string> {
  const forms = before.anyOf ?? [before];
  for (const form of after.anyOf ?? [after])
    if (!forms.some((one) => [...lost(one, form, place)].length === 0)) yield `${place}: another form`;
}

function covers(after: unknown, before: unknown): boolean {
  const [all, some] = [[after].flat(), [before].flat()];
  return some.every((type) => all.includes(type) || (type === 'integer' && all.includes('number')));
}
