import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { IntegrationRecord, IntegrationTool, ToolDefinition } from '../../../resources/integration.ts';
import { secret } from '../../../resources/markers.ts';
import { globMatcher, noneMatches } from '../../core/access/allowlist.ts';
import type { Principal } from '../../core/access/principal.ts';
import { GUEST_SCOPES } from '../../core/access/scopes.ts';
import { nearest } from '../../core/access/similar-names.ts';
import type { Progress, Questions } from '../../core/registry/call.ts';
import type { CatalogEntry } from '../../core/registry/catalog-index.ts';
import { ACTS_OUTSIDE, defineTool, OUTSIDE, READS, type Tool } from '../../core/registry/define-tool.ts';
import { declareJsonSchema, type JsonSchema } from '../../core/registry/json-schema.ts';
import { type Extras, NO_EXTRAS } from './extras.ts';
import { isSchemaObject } from './schema.ts';
import { grantOf, type Listing, labelOf, type RejectedTool, shownName } from './tool-definitions.ts';
import { inputCheck } from './validate-input.ts';

/** Says which other holder has a tool name, in words for messages. Undefined if the name is free. */
export type NameHolder = (tool: string) => string | undefined;

/** Something to offer. It is made anew when its hash is another one. */
export interface Offer {
  readonly key: string;
  readonly hash: string;
  make(): Tool;
}

/** The catalog entries of an integration. What has not changed keeps its tool, and in the same group its entry. */
export class OfferedEntries {
  #made: ReadonlyMap<string, { readonly hash: string; readonly entry: CatalogEntry }> = new Map();

  toolOf(definition: Pick<ToolDefinition, 'name' | 'hash'>): Tool | undefined {
    return this.#made.get(keyOf(definition))?.entry.tool;
  }

  update(group: string, offers: readonly Offer[]): CatalogEntry[] {
    const made = offers.map(({ key, hash, make }) => {
      const known = this.#made.get(key);
      if (known?.hash !== hash) return [key, { hash, entry: { group, tool: make() } }] as const;
      return [key, known.entry.group === group ? known : { hash, entry: { ...known.entry, group } }] as const;
    });
    this.#made = new Map(made);
    return made.map(([, { entry }]) => entry);
  }
}

function keyOf({ name, hash }: Pick<ToolDefinition, 'name' | 'hash'>): string {
  return `tool ${name} ${hash}`;
}

/** The approved tools that, as far as is known, have not changed since. While the server is away, they stay as they were. */
export function toolOffers(
  integration: IntegrationRecord,
  {
    listing,
    takenBy,
    call,
  }: { readonly listing: Listing | undefined; readonly takenBy: NameHolder; readonly call: Origin['call'] },
): Offer[] {
  const { toolPrefix, readOnlyTools, approved } = integration;
  const listed = listing && hashesOf(listing);
  const isReader = readerTest(readOnlyTools);
  const mustAsk = askTest(integration);
  return approved
    .filter(
      ({ name, hash }) => (!listed || listed.get(name) === hash) && takenBy(shownName(toolPrefix, name)) === undefined,
    )
    .map((definition) => {
      const readOnly = isReader(definition.name);
      const needsApproval = mustAsk(definition.name);
      const make = () => guestTool(definition, { integration, readOnly, needsApproval, call });
      return { key: keyOf(definition), hash: JSON.stringify([readOnly, needsApproval]), make };
    });
}

/** Every tool that is approved or listed, each with its state. */
export function toolStates(
  record: IntegrationRecord,
  listing: Listing | undefined,
  takenBy: NameHolder,
): IntegrationTool[] {
  const { toolPrefix, readOnlyTools, approved } = record;
  const isReader = readerTest(readOnlyTools);
  const known = new Map(approved.map((definition) => [definition.name, definition]));
  const listed = listing && hashesOf(listing);
  const here = (name: string) => {
    const tool = shownName(toolPrefix, name);
    return { name, tool, grant: grantOf(record, name), readOnly: isReader(name) };
  };
  const taken = takenAmong([...approved, ...(listing?.definitions ?? [])], toolPrefix, takenBy);
  const left = [...(listing?.leftOut ?? []), ...taken];
  const isTaken = new Set(taken.map(({ name }) => name));
  const isLeft = new Set(left.map(({ name }) => name).filter((name) => isTaken.has(name) || !listed?.has(name)));
  const held = (listing?.definitions ?? [])
    .filter(({ name, hash }) => known.get(name)?.hash !== hash && !isTaken.has(name))
    .map(({ name, title, description, inputSchema }) => {
      const state = known.has(name) ? ('changed' as const) : ('new' as const);
      return { ...here(name), state, ...(title && { title }), ...(description && { description }), inputSchema };
    });
  const approvedOnes = approved
    .filter(({ name, hash }) => (!listed?.has(name) || listed.get(name) === hash) && !isLeft.has(name))
    .map(({ name }) => {
      const gone = listed && !listed.has(name);
      return { ...here(name), state: gone ? ('gone' as const) : ('approved' as const) };
    });
  return [...approvedOnes, ...held, ...left.map((each) => ({ ...each, state: 'left_out' as const }))];
}

function takenAmong(definitions: readonly ToolDefinition[], toolPrefix: string, takenBy: NameHolder): RejectedTool[] {
  return [...new Set(definitions.map(({ name }) => name))].flatMap((name) => {
    const holder = takenBy(shownName(toolPrefix, name));
    return holder === undefined
      ? []
      : [{ name, reason: `its name is taken by ${holder}; give this integration a toolPrefix` }];
  });
}

/** A hash of the list, so that exactly the list that was looked at is approved. */
export function hashOfListing({ definitions }: Listing, { prompts, resources }: Extras = NO_EXTRAS): string {
  const hashes = [
    ...definitions.map(({ name, hash }) => `${name} ${hash}`),
    ...prompts.map(({ name, hash }) => `prompt ${name} ${hash}`),
    ...resources.map(({ uriTemplate, hash }) => `resource ${uriTemplate} ${hash}`),
  ].sort();
  return createHash('sha256').update(hashes.join('\n')).digest('base64url');
}

function hashesOf({ definitions }: Listing): ReadonlyMap<string, string> {
  return new Map(definitions.map(({ name, hash }) => [name, hash]));
}

function readerTest(readOnlyTools: readonly string[]): (name: string) => boolean {
  const matchers = readOnlyTools.map(globMatcher);
  return (name) => matchers.some((matches) => matches(name));
}

function askTest({ toolPrefix, askFirst = [] }: IntegrationRecord): (name: string) => boolean {
  const matchers = askFirst.map(globMatcher);
  return (name) => namesOf(toolPrefix, name).some((each) => matchers.some((matches) => matches(each)));
}

/** By which `askFirst` may name a tool. */
function namesOf(toolPrefix: string, name: string): string[] {
  return [name, `${toolPrefix}/${name}`, shownName(toolPrefix, name)];
}

/** A sentence for each entry of `askFirst` that matches none of the tools, where any are known. */
export function idleAskFirst(
  { toolPrefix, askFirst = [] }: Pick<IntegrationRecord, 'toolPrefix' | 'askFirst'>,
  tools: readonly Pick<IntegrationTool, 'name'>[],
): string[] {
  if (tools.length === 0) return [];
  const known = tools.map(({ name }) => name);
  const isIdle = (entry: string) => !known.flatMap((name) => namesOf(toolPrefix, name)).some(globMatcher(entry));
  return askFirst
    .filter(isIdle)
    .map((entry) => `askFirst: ${noneMatches(entry, nearest(entry.replace(`${toolPrefix}/`, ''), known, 3))}`);
}

export interface ToolContent {
  readonly content: unknown[];
  readonly structuredContent?: Record<string, unknown>;
}

export interface CallOptions {
  /** Who calls. Where each person has an account, it says whose is used. */
  readonly principal: Principal;
  readonly signal: AbortSignal | undefined;
  readonly report: (progress: Progress) => void;
  readonly questions: Questions | undefined;
}

interface Origin {
  readonly integration: Pick<IntegrationRecord, 'id' | 'name' | 'toolPrefix'>;
  /** As the operator marked it. What the server says about this does not count. */
  readonly readOnly: boolean;
  /** Whether calls of it by anybody wait for a person. */
  readonly needsApproval: boolean;
  /** `definition`: the definition the input was checked against. */
  call(definition: ToolDefinition, input: object, options: CallOptions): Promise<ToolContent>;
}

const output = z.object({
  content: z.array(z.unknown()),
  structuredContent: z.record(z.string(), z.unknown()).optional(),
});

function guestTool(definition: ToolDefinition, origin: Origin): Tool {
  const { name, title, description, inputSchema } = definition;
  const { integration, readOnly, needsApproval } = origin;
  const described = {
    name: shownName(integration.toolPrefix, name),
    title: title || name,
    description: description || `A tool of the integration ${labelOf(integration)}, which says nothing about it.`,
    access: { scope: readOnly ? GUEST_SCOPES.reads : GUEST_SCOPES.writes, grant: grantOf(integration, name) },
    guest: true,
    ...(needsApproval && { needsApproval }),
    answersContent: true,
    input: inputOf(inputSchema),
    output,
    errors: ['conflict', 'too_large'],
  } as const;
  const handler = (input: object, options: CallOptions) => origin.call(definition, input, options);
  return readOnly
    ? defineTool({ ...described, annotations: { ...READS, ...OUTSIDE }, handler })
    : defineTool({ ...described, annotations: ACTS_OUTSIDE, inSteps: true, handler }); // the worst is assumed
}

/** A schema that knows the members by name, for the audit log. The integration's own schema checks them. */
function inputOf(schema: JsonSchema): z.ZodObject {
  const { properties, $defs: _, definitions: __, ...others } = schema;
  const members = Object.entries(isSchemaObject(properties) ? properties : {});
  const isSecret = secretTest(schema);
  const check = inputCheck(schema);
  const shape = members.map(([name, member]) => {
    const read = z.unknown().optional();
    return [name, isSecret(member) ? secret(read) : read];
  });
  const input = z
    .object(Object.fromEntries(shape))
    // Other keywords may allow further members whose names are unknown, so one secret among them makes all of them secret.
    .catchall(isSecret(others) ? secret(z.unknown()) : z.unknown())
    .check(({ value, issues }) => void issues.push(...check(value)));
  return declareJsonSchema(input, schema);
}

/** Whether the part is secret. Where the schema has any secret, parts with references count as such: following them could be endless. */
function secretTest(root: JsonSchema): (part: unknown) => boolean {
  if (!holds(root, saysSecret)) return () => false;
  return (part) => holds(part, (node) => saysSecret(node) || node.$ref !== undefined || node.$dynamicRef !== undefined);
}

function saysSecret({ writeOnly, format }: JsonSchema): boolean {
  return writeOnly === true || format === 'password';
}

function holds(node: unknown, test: (node: JsonSchema) => boolean): boolean {
  if (typeof node !== 'object' || node === null) return false;
  return (isSchemaObject(node) && test(node)) || Object.values(node).some((inner) => holds(inner, test));
}
