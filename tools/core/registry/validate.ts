import { z } from 'zod';
import { compiled } from '../../../resources/compiled.ts';
import type { Issue } from '../../../resources/error.ts';
import { instant } from '../../../resources/fields.ts';
import { isObject } from '../../../resources/json.ts';
import { serverManaged } from '../../../resources/markers.ts';
import { nearest } from '../access/similar-names.ts';
import { invalidMember, ToolError } from '../errors.ts';
import { INPUT_LIMITS, inputLimitsOf, type JsonLimits } from './json-limits.ts';
import type { Tool } from './tool.ts';
import { validationMessage } from './validation-messages.ts';

interface Parsing {
  /** Of problems that are named. */
  readonly mostIssues?: number;
  /** The tool takes bulk data. */
  readonly bulk?: true | undefined;
}

/** The parsed input. @throws ToolError that names all problems at once, up to a limit. */
export function parseInput<Schema extends z.ZodObject>(
  schema: Schema,
  input: unknown,
  { mostIssues = MOST_ISSUES, bulk }: Parsing = {},
): z.output<Schema> {
  const unstorable = new Inspection(bulk ? inputLimitsOf({ bulk }) : INPUT_LIMITS).of(input);
  const parsed = compiled(schema).safeParse(unstorable?.fatal ? undefined : input, { error: validationMessage });
  if (parsed.success && !unstorable) return parsed.data;
  const problems = parsed.success || unstorable?.fatal ? [] : parsed.error.issues;
  const issues: Issue[] = [];
  // The number is limited, because each problem takes a search for similar names.
  for (const problem of problems) {
    if (issues.length < mostIssues) issues.push(...toIssues({ schema, input }, problem, mostIssues));
  }
  if (unstorable) issues.push({ path: formatPath(unstorable.path), message: unstorable.message });
  throw new ToolError('invalid_input', summary(issues), { issues: issues.slice(0, mostIssues) });
}

/** The problems of the input. Empty if it fits. */
export function inputIssues(schema: z.ZodObject, input: unknown): readonly Issue[] {
  try {
    parseInput(schema, input);
    return [];
  } catch (thrown) {
    if (!(thrown instanceof ToolError)) throw thrown;
    return thrown.detail.issues ?? [];
  }
}

const MOST_ISSUES = 100;

function summary(issues: readonly Issue[]): string {
  const [first] = issues;
  const place = first?.path ? `${first.path}: ` : '';
  const more = issues.length > 1 ? ` (and ${issues.length - 1} more, see issues)` : '';
  return `Invalid input: ${place}${first?.message}${more}`;
}

interface Checked {
  readonly schema: z.ZodType;
  readonly input: unknown;
}

function toIssues(checked: Checked, issue: z.core.$ZodIssue, most: number): Issue[] {
  const path = formatPath(issue.path);
  if (issue.code === 'invalid_key') return [{ path, message: `The name does not fit. ${issue.issues[0]?.message}` }];
  if (issue.code === 'invalid_union') return ofUnion(checked, issue, most) ?? [{ path, message: issue.message }];
  if (issue.code !== 'unrecognized_keys') return [{ path, message: issue.message }];
  const owner = objectAt(checked.schema, issue.path);
  const given = memberNames(checked.input, issue.path);
  return issue.keys
    .slice(0, most)
    .map((key) => ({ path: formatPath([...issue.path, key]), message: unknownMember(owner, given, key) }));
}

/** The problems inside the choice that was meant, if the given value has the type of one of the choices. */
function ofUnion(checked: Checked, { path, errors }: z.core.$ZodIssueInvalidUnion, most: number): Issue[] | undefined {
  const meant = errors.find((problems) => problems.every((problem) => problem.path.length > 0));
  return meant?.flatMap((problem) => toIssues(checked, { ...problem, path: [...path, ...problem.path] }, most));
}

/** Members that are already given, such as path parameters, are not suggested. */
function unknownMember(owner: z.ZodObject | undefined, given: ReadonlySet<string>, name: string): string {
  const key = shown(name);
  const managed = owner && serverManaged.get(owner)?.members;
  if (managed && Object.hasOwn(managed, key)) return `"${key}" ${managed[key]}; leave it out here.`;
  const allowed = owner ? Object.keys(owner.shape).filter((member) => !given.has(member)) : [];
  const [match] = nearest(key, allowed, 1);
  if (match) return `There is no field "${key}" here; did you mean "${match}"?`;
  return allowed.length > 0
    ? `There is no field "${key}" here; allowed: ${allowed.join(', ')}.`
    : `There is no field "${key}" here; leave it out.`;
}

interface UnknownMember {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/** The first part of the path that names no member of a strict object. */
export function unknownMemberAt(schema: z.ZodType, path: readonly PropertyKey[]): UnknownMember | undefined {
  for (const [at, part] of path.entries()) {
    const owner = objectAt(schema, path.slice(0, at));
    const isStrict = owner?.def.catchall instanceof z.ZodNever;
    if (owner && isStrict && !Object.hasOwn(owner.shape, String(part)))
      return { path: path.slice(0, at + 1), message: unknownMember(owner, new Set(), String(part)) };
  }
  return undefined;
}

function memberNames(input: unknown, path: readonly PropertyKey[]): ReadonlySet<string> {
  let current = input;
  for (const segment of path) current = (current as Readonly<Record<PropertyKey, unknown>>)[segment]; // where the schema found an object
  return new Set(Object.keys(current as object)); // as above
}

/** The object schema at the path, seen through optional, nullable, default and array wrappers. */
export function objectAt(schema: z.ZodType, path: readonly PropertyKey[]): z.ZodObject | undefined {
  let current: unknown = unwrap(schema);
  for (const segment of path) {
    if (current instanceof z.ZodObject) current = current.shape[String(segment)];
    else if (current instanceof z.ZodArray) current = current.element;
    else return undefined;
    current = unwrap(current);
  }
  return current instanceof z.ZodObject ? current : undefined;
}

export function unwrap(schema: unknown): unknown {
  let current = schema;
  while (current instanceof z.ZodOptional || current instanceof z.ZodNullable || current instanceof z.ZodDefault) {
    current = current.unwrap();
  }
  return current;
}

/** Writes a path as `steps[2].tool`. Members whose names are not plain stand in quotes. */
export function formatPath(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, segment) => {
    if (typeof segment === 'number') return `${text}[${segment}]`;
    const name = shown(String(segment));
    if (!/^[\w$-]+$/.test(name)) return `${text}[${JSON.stringify(name)}]`;
    return text ? `${text}.${name}` : name;
  }, '');
}

/** Whether a formatted path names the place or something below it. */
export function isAtOrIn(path: string, place: string): boolean {
  return path === place || path.startsWith(`${place}.`) || path.startsWith(`${place}[`);
}

interface Unstorable {
  readonly path: readonly PropertyKey[];
  readonly message: string;
  /** If true, no schema may walk over the input. */
  readonly fatal?: true;
}

function tooMany({ members }: JsonLimits): Unstorable {
  return { path: [], message: `More than ${members} members; send less at a time.`, fatal: true };
}
const TOO_DEEP: Unstorable = {
  path: [],
  message: `Nested deeper than ${INPUT_LIMITS.levels} levels; send less deep values.`,
  fatal: true,
};

/** Finds, in one walk, what no store can keep, names that schemas pass over, deep nesting and too many members. A fatal problem comes first. */
class Inspection {
  readonly #bounds: JsonLimits;
  #members = 0;
  #found: Unstorable | undefined;
  readonly #path: PropertyKey[] = [];

  constructor(bounds: JsonLimits) {
    this.#bounds = bounds;
  }

  of(input: unknown): Unstorable | undefined {
    return this.#walk(input) ?? this.#found;
  }

  /** A fatal problem, after which nothing more is looked at. */
  #walk(value: unknown): Unstorable | undefined {
    if (typeof value === 'string') this.#check(value);
    if (typeof value !== 'object' || value === null) return undefined;
    if (this.#path.length >= this.#bounds.levels) return TOO_DEEP;
    const names = Array.isArray(value) ? undefined : Object.keys(value);
    const items = value as Readonly<Record<PropertyKey, unknown>>; // by the names or indexes that it has
    const length = names ? names.length : (value as unknown[]).length; // an array where it has no names
    this.#members += length;
    if (this.#members > this.#bounds.members) return tooMany(this.#bounds);
    for (let at = 0; at < length; at += 1) {
      const name = names?.[at];
      if (name !== undefined) this.#checkName(name);
      this.#path.push(name ?? at);
      const fatal = this.#walk(items[name ?? at]);
      this.#path.pop();
      if (fatal) return fatal;
    }
    return undefined;
  }

  #check(text: string): void {
    if (!storable(text)) this.#found ??= { path: [...this.#path], message: UNSTORABLE };
  }

  #checkName(name: string): void {
    this.#check(name);
    if (name === '__proto__')
      this.#found ??= { path: [...this.#path, name], message: 'No member may have this name; choose another.' };
  }
}

/** Names come from the caller and may have any length. */
function shown(name: string): string {
  return name.length > 100 ? `${name.slice(0, 100)}…` : name;
}

const UNSTORABLE = 'Text may hold neither NUL nor half of a surrogate pair; leave them out.';

function storable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}

/** The input with the members under their own names that came under names which similar tools use. @throws ToolError if both came */
export function withoutAliases({ aliases }: Pick<Tool, 'aliases'>, given: unknown): unknown {
  if (!aliases || !isObject(given)) return given;
  const used = Object.keys(aliases).filter((alias) => Object.hasOwn(given, alias));
  if (used.length === 0) return given;
  const named: Record<string, unknown> = { ...given };
  for (const alias of used) {
    const name = aliases[alias] ?? alias;
    if (Object.hasOwn(given, name)) throw twice(alias, name);
    named[name] = named[alias];
    delete named[alias];
  }
  return named;
}

function twice(alias: string, name: string): ToolError {
  const message = `Is another name of "${name}"; give one of them.`;
  return new ToolError('invalid_input', `Invalid input: ${alias}: ${message}`, { issues: [{ path: alias, message }] });
}

/** The end as it is stored. @throws ToolError (invalid_input) if it is over */
export function futureInstant(expiresAt: string, now: Date, path = 'expiresAt'): string {
  if (Date.parse(expiresAt) > now.getTime()) return instant(expiresAt);
  throw invalidMember(path, 'expiresAt is in the past; give a later time or leave it out.');
}

export function definedMembers<Members extends object>(
  members: Members,
): { [M in keyof Members]: Exclude<Members[M], undefined> } {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [M in keyof Members]: Exclude<Members[M], undefined> }; // of the same members
}
