import { createHash } from 'node:crypto';
import { canonicalize } from 'json-canonicalize';
import type { IntegrationRecord, ToolDefinition } from '../../../resources/integration.ts';
import { GUEST_GRANT } from '../../core/access/scopes.ts';
import { cleanText, type Scrubber } from '../../core/outbound/untrusted-text.ts';
import type { JsonSchema } from '../../core/registry/json-schema.ts';
import { headerProblem } from './header-arguments.ts';
import { boundSchema, isSchemaObject, SchemaProblem } from './schema.ts';

/** The longest name of a tool on this server. Model providers accept no longer names. */
export const LONGEST_NAME = 64;
const LONGEST_TITLE = 120;
export const LONGEST_DESCRIPTION = 2000;
export const MOST_TOOLS = 250;
export const MOST_BYTES = 1024 * 1024;

export interface RejectedTool {
  readonly name: string;
  readonly reason: string;
}

export interface Listing {
  readonly definitions: readonly ToolDefinition[];
  readonly leftOut: readonly RejectedTool[];
}

export function shownName(prefix: string, name: string): string {
  return prefix === '' ? localName(name) : `${prefix}__${localName(name)}`;
}

function localName(name: string): string {
  return name.replaceAll('.', '_');
}

/** The grant for one tool of an integration. An integration without a prefix is named by its id. */
export function grantOf({ id, toolPrefix }: Pick<IntegrationRecord, 'id' | 'toolPrefix'>, name: string): string {
  return `${GUEST_GRANT}:${toolPrefix || id}/${localName(name)}`;
}

export function labelOf({ name, toolPrefix }: Pick<IntegrationRecord, 'name' | 'toolPrefix'>): string {
  return toolPrefix || name;
}

interface ListingOptions {
  readonly prefix: string;
  /** Whether arguments travel in HTTP headers too: over HTTP, since revision 2026-07-28. */
  readonly headerArguments: boolean;
}

/** Reads the list of tools. A tool that is invalid or too large is left out; the others stay. */
export function readListing(raw: readonly unknown[], options: ListingOptions, scrubber: Scrubber): Listing {
  const { prefix } = options;
  const definitions: ToolDefinition[] = [];
  const leftOut: RejectedTool[] = [];
  const taken = new Set<string>();
  let bytes = 0;
  for (const item of raw) {
    const read = readDefinition(item, options, scrubber);
    const reason = 'reason' in read ? read.reason : refusalOf(read, taken, bytes, prefix);
    if (reason !== undefined || 'reason' in read) {
      if (leftOut.length < MOST_TOOLS) leftOut.push({ name: read.name, reason: reason ?? '' });
      continue;
    }
    bytes += JSON.stringify(read).length;
    taken.add(shownName(prefix, read.name));
    definitions.push(read);
  }
  return { definitions, leftOut };
}

function refusalOf({ name }: ToolDefinition, taken: ReadonlySet<string>, bytes: number, prefix: string) {
  if (taken.has(shownName(prefix, name))) return 'another of its tools has the same name here';
  if (taken.size >= MOST_TOOLS) return `an integration has at most ${MOST_TOOLS} tools`;
  return bytes > MOST_BYTES ? `the definitions together are larger than ${MOST_BYTES} bytes` : undefined;
}

function readDefinition(
  raw: unknown,
  { prefix, headerArguments }: ListingOptions,
  scrubber: Scrubber,
): ToolDefinition | RejectedTool {
  const { name } = isSchemaObject(raw) ? raw : {};
  if (typeof name !== 'string') return { name: '', reason: 'it has no name' };
  const shown = scrubber.shown(name, LONGEST_NAME);
  const reason = nameProblem(name, prefix) ?? (isTask(raw) ? ONLY_A_TASK : undefined);
  if (reason !== undefined) return { name: shown, reason };
  try {
    const { title, description, inputSchema, outputSchema, annotations } = scrubber.json(raw) as JsonSchema; // scrubbing keeps the shape
    const root = rootSchema(inputSchema);
    const problem = headerArguments ? headerProblem(inputSchema) : undefined;
    if (problem !== undefined) return { name: shown, reason: scrubber.shown(problem) };
    return {
      name,
      hash: hashOf({ name, title, description, inputSchema, outputSchema, annotations }),
      ...(typeof title === 'string' && { title: cleanText(title, LONGEST_TITLE) }),
      ...(typeof description === 'string' && { description: cleanText(description, LONGEST_DESCRIPTION) }),
      inputSchema: root,
    };
  } catch (error) {
    if (error instanceof SchemaProblem) return { name: shown, reason: `its input cannot be checked: ${error.message}` };
    if (error instanceof RangeError) return { name: shown, reason: 'its definition nests too deep' };
    throw error;
  }
}

function nameProblem(name: string, prefix: string): string | undefined {
  const here = shownName(prefix, name);
  if (!/^[A-Za-z0-9_.-]+$/.test(name)) return 'its name has characters that names may not have';
  if (here.length > LONGEST_NAME) return `its name and the prefix have more than ${LONGEST_NAME} characters`;
  if (prefix !== '' || !here.includes('__')) return undefined;
  return 'names with two underscores are those of integrations with a prefix; give this one a toolPrefix';
}

const ONLY_A_TASK = 'it runs only as a task (execution.taskSupport: required), which is not supported here';

function isTask(raw: unknown): boolean {
  return isSchemaObject(raw) && isSchemaObject(raw.execution) && raw.execution.taskSupport === 'required';
}

function rootSchema(raw: unknown): Record<string, unknown> {
  const { type, ...rest } = boundSchema(raw ?? {});
  if (type !== undefined && type !== 'object') throw new SchemaProblem('it is not an object');
  return { type: 'object', ...rest };
}

/** A hash of everything that models and people see of a tool. A tool with another hash must be approved again. */
export function hashOf(definition: object): string {
  return createHash('sha256').update(canonicalize(definition)).digest('base64url');
}
