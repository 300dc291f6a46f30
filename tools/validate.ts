import { z } from 'zod';
import type { Issue } from '../resources/error.ts';
import { serverManaged } from '../resources/markers.ts';
import { nearest } from './catalog-index.ts';
import { ToolError } from './errors.ts';

/** The parsed input. @throws ToolError that names every problem at once. */
export function parseInput<Schema extends z.ZodObject>(schema: Schema, input: unknown): z.output<Schema> {
  const unstorable = countValues(input) > MOST_VALUES ? TOO_MANY : findUnstorable(input, [], 0);
  const parsed = schema.safeParse(unstorable?.fatal ? undefined : input);
  if (parsed.success && !unstorable) return parsed.data;
  const problems = parsed.success || unstorable?.fatal ? [] : parsed.error.issues;
  const issues = problems.slice(0, MOST_ISSUES).flatMap((issue) => toIssues(schema, issue));
  if (unstorable) issues.push({ path: formatPath(unstorable.path), message: unstorable.message });
  throw new ToolError('invalid_input', summary(issues), { issues: issues.slice(0, MOST_ISSUES) });
}

const MOST_ISSUES = 100;
const DEEPEST = 64;

function summary(issues: readonly Issue[]): string {
  const [first] = issues;
  const place = first?.path ? `${first.path}: ` : '';
  const more = issues.length > 1 ? ` (and ${issues.length - 1} more, see issues)` : '';
  return `Invalid input: ${place}${first?.message}${more}`;
}

function toIssues(schema: z.ZodType, issue: z.core.$ZodIssue): Issue[] {
  const path = formatPath(issue.path);
  if (issue.code === 'invalid_key') return [{ path, message: issue.issues[0]?.message ?? issue.message }];
  if (issue.code !== 'unrecognized_keys') return [{ path, message: issue.message }];
  const owner = objectAt(schema, issue.path);
  return issue.keys
    .slice(0, MOST_ISSUES)
    .map((key) => ({ path: formatPath([...issue.path, key]), message: unknownMember(owner, key) }));
}

function unknownMember(owner: z.ZodObject | undefined, name: string): string {
  const key = shown(name);
  const managed = owner && serverManaged.get(owner)?.members;
  if (managed && Object.hasOwn(managed, key)) return `"${key}" ${managed[key]}.`;
  const allowed = owner ? Object.keys(owner.shape) : [];
  const [match] = nearest(key, allowed, 1);
  if (match) return `There is no field "${key}" here; did you mean "${match}"?`;
  return allowed.length > 0
    ? `There is no field "${key}" here; allowed: ${allowed.join(', ')}.`
    : `There is no field "${key}" here; none is allowed.`;
}

/** The object schema at the path, seen through optional, nullable, default and array wrappers. */
function objectAt(schema: z.ZodType, path: readonly PropertyKey[]): z.ZodObject | undefined {
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

/** `steps[2].tool`; members that are no plain names in quotes. */
export function formatPath(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, segment) => {
    if (typeof segment === 'number') return `${text}[${segment}]`;
    const name = shown(String(segment));
    if (!/^[\w$-]+$/.test(name)) return `${text}[${JSON.stringify(name)}]`;
    return text ? `${text}.${name}` : name;
  }, '');
}

/** Whether a formatted path is that of the place or of something below it. */
export function isAtOrIn(path: string, place: string): boolean {
  return path === place || path.startsWith(`${place}.`) || path.startsWith(`${place}[`);
}

interface Unstorable {
  readonly path: readonly PropertyKey[];
  readonly message: string;
  /** No schema should walk over the input then. */
  readonly fatal?: true;
}

const MOST_VALUES = 100_000;
const TOO_MANY: Unstorable = {
  path: [],
  message: `More than ${MOST_VALUES} values; send less at a time.`,
  fatal: true,
};

/** Values in the input, counted no further than to one more than may be. */
function countValues(input: unknown): number {
  let count = 1;
  const open = [input];
  for (let value = open.pop(); value !== undefined && count <= MOST_VALUES; value = open.pop()) {
    if (typeof value !== 'object' || value === null) continue;
    const items = Object.values(value);
    count += items.length;
    if (count <= MOST_VALUES) for (const item of items) if (typeof item === 'object' && item !== null) open.push(item);
  }
  return count;
}

/** The first text (or member name) that no store can keep as it is, a name that schemas pass over, or nesting that no recursion should follow. */
function findUnstorable(value: unknown, path: PropertyKey[], depth: number): Unstorable | undefined {
  if (typeof value === 'string') return storable(value) ? undefined : { path: [...path], message: UNSTORABLE };
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth > DEEPEST) return { path: [], message: `Nested deeper than ${DEEPEST} levels.`, fatal: true };
  for (const [name, item] of Object.entries(value)) {
    if (!storable(name)) return { path: [...path], message: UNSTORABLE };
    if (name === '__proto__') return { path: [...path, name], message: 'No member may have this name.' };
    path.push(Array.isArray(value) ? Number(name) : name);
    const found = findUnstorable(item, path, depth + 1);
    path.pop();
    if (found) return found;
  }
  return undefined;
}

/** Names come from the caller and may be of any length. */
function shown(name: string): string {
  return name.length > 100 ? `${name.slice(0, 100)}…` : name;
}

const UNSTORABLE = 'Text may hold neither NUL nor half of a surrogate pair.';

function storable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}
