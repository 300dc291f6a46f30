import type { CallError, Issue } from '../../client.ts';
import { labelOf } from '../../format.ts';
import { type JsonSchema, onlyValue } from '../../schema.ts';

export type Members = Readonly<Record<string, unknown>>;

/** What every part of a form gets: its place, its value, and how to change it. */
export interface PartProps {
  readonly name: string;
  /** As issues name it: `steps[0].tool`. */
  readonly path: string;
  readonly schema: JsonSchema;
  readonly needed: boolean;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
  readonly issues: readonly Issue[];
  /** The values of all members of the object that it belongs to, where the part is a control of a page's own. */
  readonly beside?: Members;
}

export function memberPath(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

export function issueAt({ path, issues }: Pick<PartProps, 'path' | 'issues'>): string | undefined {
  const found = issues.filter((issue) => issue.path === path).map(({ message }) => message);
  return found.length > 0 ? found.join(' ') : undefined;
}

/** Whether the form has a field at which the problem is shown. */
export function isShown(schema: JsonSchema, path: string, hidden: readonly string[] = []): boolean {
  const [first = ''] = path.split(/[.[]/);
  return schema.properties?.[first] !== undefined && !hidden.includes(first);
}

export function issuesOf(error: unknown): readonly Issue[] {
  return error instanceof Error && 'issues' in error ? (error as CallError).issues : [];
}

/** What a new part begins with: its default, else what its members begin with. */
export function initial(schema: JsonSchema): unknown {
  if (schema.default !== undefined) return schema.default;
  const only = onlyValue(schema);
  if (only !== undefined) return only;
  if (schema.properties) {
    const needed = new Set(schema.required ?? []);
    const begun = Object.entries(schema.properties)
      .filter(([name, member]) => needed.has(name) || member.default !== undefined)
      .map(([name, member]) => [name, initial(member)] as const);
    return Object.fromEntries(begun.filter(([, value]) => value !== undefined));
  }
  return schema.type === 'array' ? [] : schema.type === 'object' ? {} : schema.type === 'boolean' ? false : undefined;
}

/** Only what differs from before; null clears what was taken away. Nested objects are given whole. */
export function changes(before: Members, after: Members, schema: JsonSchema): Members {
  const changed: [string, unknown][] = [];
  for (const [name, member] of Object.entries(schema.properties ?? {})) {
    const [was, is] = [before[name], after[name]];
    if (JSON.stringify(was) === JSON.stringify(is)) continue;
    const clears = member.anyOf?.some(({ type }) => type === 'null') ?? false;
    if (is !== undefined && is !== '') changed.push([name, is]);
    else if (was !== undefined && clears) changed.push([name, null]);
    else if (is === '') changed.push([name, '']);
  }
  return Object.fromEntries(changed);
}

/** Empty texts of members that need not be there are no values. */
export function withoutEmpty(value: Members, schema: JsonSchema): Members {
  const needed = new Set(schema.required ?? []);
  return Object.fromEntries(
    Object.entries(value).filter(([name, member]) => member !== undefined && (member !== '' || needed.has(name))),
  );
}

/** What the server found wrong with a list, or with the first of its items that is wrong. */
export function nestedIssue(props: PartProps): string | undefined {
  const inside = props.issues.find(({ path }) => path.startsWith(`${props.path}[`));
  return issueAt(props) ?? inside?.message;
}

export function titleOf({ schema, name }: Pick<PartProps, 'schema' | 'name'>): string {
  return schema.title ?? labelOf(name);
}

/** Descriptions are written for models: what leads them to a list, or how an id or a day is written, stands in the control here. */
export function hintOf({ description }: JsonSchema): string | undefined {
  const hint = description
    ?.replaceAll('`', '')
    .replace(/[,;]? ?see list_\w+/g, '')
    .replace(/ \((\w{3}_…)\)/g, '')
    .replace(/^(Model id|Agent id or name|Like \d{4}-\d\d-\d\d)\.( |$)/, '')
    .replace(/: id or name\./g, '.')
    .replace(/\s+\./g, '.');
  return hint === '' || hint === '.' ? undefined : hint;
}
