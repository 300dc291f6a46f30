import type { CallError, Issue } from '../../client.ts';
import { labelOf } from '../../format.ts';
import { type JsonSchema, onlyValue, withoutNull } from '../../schema.ts';

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
  /** What holds where it is left out: of the workspace, or of the provider. */
  readonly inherited?: string | undefined;
  /** The values of all members of the object that it belongs to, where the part is a control of a page's own. */
  readonly beside?: Members;
  /** Changes other members too, where the control stands for them. */
  readonly onBeside?: (change: Members) => void;
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

/** What clears the members: null, else an empty object. What takes neither is left out. */
export function emptied(names: readonly string[], schema: JsonSchema): Members {
  const cleared = names.flatMap((name): [string, unknown][] => {
    const member = schema.properties?.[name] ?? {};
    if (withoutNull(member).nullable) return [[name, null]];
    return member.type === 'object' && !member.required?.length ? [[name, {}]] : [];
  });
  return Object.fromEntries(cleared);
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

const SECRET = /(secret|password|token|apiKey)$/i;
/** What often holds secrets besides: the address of a Slack webhook is one, and headers and variables of a program are. */
const MAY_BE_SECRET = /^(webhookUrl|headers|env)$/;

/** Whether a text is typed unseen. */
export function isSecretText(name: string, { 'x-control': control }: JsonSchema): boolean {
  return control === 'secret' || (control === undefined && SECRET.test(name));
}

/** Whether a member is, or may hold, a secret, so that it is kept nowhere. */
export function isSecretMember(name: string, schema: JsonSchema): boolean {
  return isSecretText(name, schema) || MAY_BE_SECRET.test(name);
}

/** Derives `name` from `displayName`, unless the person typed another name. */
export function withMadeName(schema: JsonSchema, before: Members, after: Members): Members {
  const { name, displayName } = schema.properties ?? {};
  if (!name || !displayName || after.displayName === before.displayName) return after;
  if ((before.name ?? '') !== nameOf(before.displayName)) return after;
  return { ...after, name: nameOf(after.displayName) };
}

const LONGEST_NAME = 60;

/** `Team Slack (EU)` -> `team-slack-eu` */
function nameOf(displayName: unknown): string {
  const plain = String(displayName ?? '')
    .replaceAll('ß', 'ss')
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '');
  const words = plain.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
  return words.slice(0, LONGEST_NAME).replaceAll(/^-+|-+$/g, '');
}
