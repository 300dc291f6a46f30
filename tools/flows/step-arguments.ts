import { z } from 'zod';
import type { Issue } from '../../resources/error.ts';
import type { FlowStep } from '../../resources/flow.ts';
import { formHints, recordNames } from '../../resources/markers.ts';
import { nearest } from '../core/access/similar-names.ts';
import type { ServerContext } from '../core/registry/context.ts';
import type { Tool } from '../core/registry/define-tool.ts';
import { looksLikeId, unknownNames } from '../core/registry/record-names.ts';
import { missingRecord, type ReferenceCaller } from '../core/registry/references.ts';
import { formatPath, objectAt, unknownMemberAt, unwrap, withoutAliases } from '../core/registry/validate.ts';
import { textsIn } from './definition-texts.ts';
import { isTemplate } from './expressions.ts';

/** Arguments with templates that the tool does not take. Their values are known only when the flow runs, their names are known now. */
export function unknownArguments({ input, aliases = {} }: Tool, step: FlowStep): Issue[] {
  return templatesIn(step.arguments).flatMap(({ path }) => {
    const found = Object.hasOwn(aliases, String(path[0])) ? undefined : unknownMemberAt(input, path);
    return found ? [{ path: formatPath(['arguments', ...found.path]), message: found.message }] : [];
  });
}

/** Arguments of steps that name records which are not there for the writer, who has the rights that the steps need. */
export async function missingRecords(steps: readonly FlowStep[], caller: RecordDeps): Promise<Issue[]> {
  const issues: Issue[] = [];
  for (const [index, step] of steps.entries()) {
    const tool = caller.server.catalog.get(step.tool)?.tool;
    const missing = tool ? await missingIn(tool, step, caller) : [];
    issues.push(...missing.map(({ path, message }) => ({ path: `steps[${index}].${path}`, message })));
  }
  return issues;
}

interface RecordDeps extends ReferenceCaller {
  readonly server: Pick<ServerContext, 'catalog' | 'kinds'>;
}

async function missingIn(tool: Tool, step: FlowStep, caller: RecordDeps): Promise<Issue[]> {
  const { store, principal, server } = caller;
  const given = withoutAliases(tool, step.arguments) as object; // stays an object
  const issues: Issue[] = [];
  const check = async (path: readonly PropertyKey[], type: string, text: string) => {
    const message = await missingRecord(caller, type, text);
    if (message !== undefined) issues.push({ path: formatPath(['arguments', ...path]), message });
  };
  for (const [name, value] of Object.entries(given)) {
    const type = hintOf(tool.input.shape[name]);
    const ids = type === undefined ? [] : [value].flat().filter((id) => typeof id === 'string' && looksLikeId(id));
    for (const id of ids) await check([name], type ?? '', id);
  }
  for (const { path, name, types } of await unknownNames(tool.input, given, { store, principal, ...server })) {
    // A member of several types may also name somebody who has no record.
    const [type, ...others] = types;
    if (type !== undefined && others.length === 0 && !isTemplate(name)) await check(path, type, name);
  }
  return issues;
}

function hintOf(schema: unknown): string | undefined {
  const bare = unwrap(schema);
  const inner = bare instanceof z.ZodArray ? unwrap(bare.element) : undefined;
  const schemas = [schema, bare, inner].filter((one) => one instanceof z.ZodType);
  return schemas.map((one) => formHints.get(one)?.ref ?? typeNamedBy(one)).find((type) => type !== undefined);
}

/** Undefined if another member decides. */
function typeNamedBy(schema: z.ZodType): string | undefined {
  const { names, beside } = recordNames.get(schema) ?? {};
  return beside === undefined && names?.length === 1 ? names[0] : undefined;
}

/** @throws Error if a template gave nothing, and the tool requires a value there */
export function requireFilled({ input }: Tool, step: FlowStep, filled: object): void {
  for (const { path, text } of templatesIn(step.arguments)) {
    const value = valueAt(filled, path);
    if (value !== null && (typeof value !== 'string' || value.trim() !== '')) continue;
    if (!isRequired(input, path, value)) continue;
    const place = formatPath(['arguments', ...path]);
    throw new Error(
      `${place}: the template ${JSON.stringify(text.slice(0, 100))} gives nothing, and ${place} is required; give it a default, as in {{ … | default: "none" }}, or a condition to the step.`,
    );
  }
}

function isRequired(schema: z.ZodType, path: readonly PropertyKey[], value: unknown): boolean {
  const owner = objectAt(schema, path.slice(0, -1));
  const member = owner?.shape[String(path.at(-1))];
  if (!(member instanceof z.ZodType)) return false;
  return !member.safeParse(undefined).success && !(value === null && member.safeParse(null).success);
}

function templatesIn(given: object) {
  return textsIn(given, []).filter(({ text }) => isTemplate(text));
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((inner, part) => (inner as Record<PropertyKey, unknown> | undefined)?.[part], value); // templates change leaves alone
}

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
