import { INTERNAL_ERROR, INVALID_PARAMS, type Result } from '@modelcontextprotocol/server';
import { type ErrorBody, errorStatus } from '../../resources/error.ts';
import { capsuleIn, type Principal } from '../../tools/core/access/principal.ts';
import type { Registry } from '../../tools/core/registry/registry.ts';
import { findGuide, guides } from '../guides/guides.ts';
import type { RequestContext } from '../http/request-context.ts';
import { type Address, addresses } from './addresses.ts';
import { callTool, type McpDeps } from './calls.ts';
import { callGuest, guestPage, guestResources, guestTemplate, guestUri, parseGuestUri } from './guests.ts';
import { RpcError } from './message.ts';
import { hasVariables, parseUri, uriOf } from './resource-uri.ts';
import { readView } from './views.ts';

type Members = Readonly<Record<string, unknown>>;
type RegistryOnly = Pick<McpDeps, 'registry'>;

/** Clients stop reading a list after some number of pages, so the pages are long. */
export const PAGE = 1000;
const MOST_AT_ONCE = 100;
/** The calls for one page at most. Only a caller with a fixed `limit` could need more. */
const MOST_CALLS = 60;
const LONGEST_URI = 2000;
const LONGEST_NAME = 100;

export async function listTemplates(
  { registry }: RegistryOnly,
  context: RequestContext,
  { cursor }: Members,
): Promise<Result> {
  if (cursor !== undefined) throw foreignCursor();
  const seen = visibleTools(registry, context.principal);
  const shown = addresses.filter((address) => hasVariables(address) && seen.has(address.shownWith));
  const own = shown.map(({ uriTemplate, title, description, mimeType }) => ({
    uriTemplate,
    name: title,
    title,
    description,
    ...(mimeType && { mimeType }),
  }));
  const guests = guestResources(registry, context.principal, 'read').flatMap(({ serves: { prefix, templates } }) =>
    templates.map(({ uriTemplate, name = uriTemplate, title, description, mimeType }) => ({
      uriTemplate: guestTemplate(prefix, uriTemplate),
      name,
      ...(title && { title }),
      ...(description && { description }),
      ...(mimeType && { mimeType }),
    })),
  );
  return { resourceTemplates: [...own, ...guests] };
}

/** How far a list has come: the address, and the place in the list of its records. */
interface ResourcePosition {
  readonly at: number;
  readonly cursor?: string | undefined;
}

/** `resources/list`: the answers of the list tools to this caller, and after them the guides and the resources of integrations. */
export async function listResources(
  { registry }: RegistryOnly,
  context: RequestContext,
  { cursor }: Members,
): Promise<Result> {
  const seen = visibleTools(registry, context.principal);
  const resources: object[] = [];
  const guests = guestResources(registry, context.principal, 'list');
  const sources: Source[] = [...addresses, GUIDES, ...guests];
  let place: ResourcePosition = cursor === undefined ? { at: 0 } : readCursor(cursor, sources);
  let calls = 0;
  for (let source = sources[place.at]; source && !context.aborted; source = sources[place.at]) {
    if (resources.length >= PAGE || calls >= MOST_CALLS) return { resources, nextCursor: cursorAt(place, sources) };
    const limit = Math.min(MOST_AT_ONCE, PAGE - resources.length);
    calls += 1;
    const found = await pageOf(registry, context, source, { seen, limit, cursor: place.cursor });
    resources.push(...found.resources);
    place = found.cursor === null ? { at: place.at + 1 } : { at: place.at, cursor: found.cursor };
  }
  return { resources };
}

const NONE = { resources: [], cursor: null };
/** The pages of the folder of guides, which are not records. */
const GUIDES = 'guides';

interface ResourceRequest {
  readonly seen: ReadonlySet<string>;
  readonly limit: number;
  readonly cursor: string | undefined;
}

function pageOf(registry: Registry, context: RequestContext, source: Source, wanted: ResourceRequest) {
  if (source === GUIDES) return { resources: guideResources(context.principal), cursor: null };
  return 'serves' in source
    ? guestPage(registry, context, source, wanted.cursor)
    : ownPage(registry, context, source, wanted);
}

async function ownPage(
  registry: Registry,
  context: RequestContext,
  address: Address,
  { seen, limit, cursor }: ResourceRequest,
) {
  if (!seen.has(address.listTool ?? address.readTool)) return NONE;
  if (!hasVariables(address)) return { ...NONE, resources: [describeResource(address, { name: address.title })] };
  if (!address.listTool) return NONE;
  const input = { limit, ...(cursor !== undefined && { cursor }) };
  const answer = await callOwn(registry, context, address.listTool, input);
  if (answer.ok) {
    const { data, nextCursor } = answer.output as { data: Members[]; nextCursor: string | null }; // a page
    const resources = data.map((record) => describeResource(address, record));
    // A caller with a fixed cursor never gets to a next page.
    const isHeld = Object.hasOwn(fixedFor(registry, context, address.listTool), 'cursor');
    return { resources, cursor: isHeld ? null : nextCursor };
  }
  if (answer.error.code === 'forbidden') return NONE;
  throw toolFailure(answer.error);
}

/** A call that the door makes itself. Arguments that are fixed for the caller replace those that the door would give. */
export function callOwn(registry: Registry, context: RequestContext, name: string, input: Members) {
  const fixed = fixedFor(registry, context, name);
  const open = Object.entries(input).filter(([argument]) => !Object.hasOwn(fixed, argument));
  return callTool(registry, context, { name, arguments: Object.fromEntries(open) });
}

function fixedFor(registry: Registry, context: RequestContext, name: string): object {
  const tool = registry.find(name);
  return (tool && context.principal.tools?.fixed?.(tool)) ?? {};
}

function describeResource(address: Address, record: Members) {
  const { mimeType = record.mimeType, title } = address;
  const { updatedAt } = record;
  return {
    uri: uriOf(address, record),
    name: String(record[address.label] ?? record.id)
      .slice(0, LONGEST_NAME)
      .toWellFormed(),
    description: title,
    mimeType,
    ...(updatedAt !== undefined && { annotations: { lastModified: updatedAt } }),
  };
}

/** `resources/read`: calls the read tool of the record and shows its answer as a resource. */
export async function readResource(parts: McpDeps, context: RequestContext, { uri }: Members): Promise<Result> {
  const { registry } = parts;
  if (typeof uri !== 'string' || uri.length > LONGEST_URI) {
    throw new RpcError(INVALID_PARAMS, `Invalid params: uri is a text of at most ${LONGEST_URI} characters.`);
  }
  if (isGuideUri(uri)) return readGuide(context.principal, uri);
  if (uri.startsWith('ui://')) return readView(parts, context, uri);
  const foreign = parseGuestUri(uri);
  if (foreign) return readGuest(registry, context, { uri, prefix: foreign.prefix, own: foreign.uri });
  const named = parseUri(uri);
  if (!named) {
    const message = 'No resource has a URI of this form; resources/templates/list shows the forms there are.';
    throw new RpcError(INVALID_PARAMS, message, { uri });
  }
  const { address, input } = named;
  const answer = await callTool(registry, context, { name: address.readTool, arguments: input });
  if (!answer.ok) throw toolFailure(answer.error, { uri });
  return { contents: [{ uri, ...contentOf(address, answer.output as Members) }] }; // by its schema, a tool's output is an object
}

async function readGuest(
  registry: Registry,
  context: RequestContext,
  { uri, prefix, own }: Record<'uri' | 'prefix' | 'own', string>,
) {
  const guest = guestResources(registry, context.principal, 'read').find(({ serves }) => serves.prefix === prefix);
  if (!guest) throw new RpcError(INVALID_PARAMS, 'No integration with resources has this prefix, for you.', { uri });
  const failure = (error: ErrorBody) => toolFailure(error, { uri });
  const result = await callGuest(registry, context, { tool: guest.tool, input: { uri: own }, failure });
  if (!Array.isArray(result.contents)) return result;
  const contents = result.contents.map((content: { readonly uri: string }) => ({
    ...content,
    uri: content.uri === own ? uri : guestUri(prefix, content.uri),
  }));
  return { contents };
}

function contentOf({ mimeType, text, blob }: Address, record: Members) {
  const type = mimeType ?? record.mimeType;
  if (text !== undefined && typeof record[text] === 'string') return { mimeType: type, text: record[text] };
  if (blob !== undefined && typeof record[blob] === 'string') return { mimeType: type, blob: record[blob] };
  return { mimeType: 'application/json', text: JSON.stringify(record) };
}

/** The error of a tool as an error of the protocol. SDKs take data with only a URI to mean that the resource does not exist. */
export function toolFailure({ code, error, issues, required }: ErrorBody, data: object = {}): RpcError {
  if (errorStatus[code] >= 500) return new RpcError(INTERNAL_ERROR, error);
  if (code === 'not_found') return new RpcError(INVALID_PARAMS, error, data);
  return new RpcError(INVALID_PARAMS, error, {
    ...data,
    code,
    ...(issues && { issues }),
    ...(required && { required }),
  });
}

/** The names of the tools in the principal's own list. A call of one is still checked like any call. */
export function visibleTools(registry: Registry, principal: Principal): ReadonlySet<string> {
  return new Set(registry.list(principal).map(({ tool }) => tool.name));
}

type Source = Address | typeof GUIDES | ReturnType<typeof guestResources>[number];

function keyOf(source: Source | undefined): string | undefined {
  if (source === undefined || source === GUIDES) return source;
  return 'serves' in source ? source.tool : source.uriTemplate;
}

function cursorAt({ at, cursor }: ResourcePosition, sources: readonly Source[]): string {
  return Buffer.from(JSON.stringify([keyOf(sources[at]), cursor])).toString('base64url');
}

/** Reads our part of the cursor. The list tool checks its own part. */
function readCursor(cursor: unknown, sources: readonly Source[]): ResourcePosition {
  const [key, inner] = decoded(cursor);
  const at = sources.findIndex((source) => keyOf(source) === key);
  if (at < 0 || (inner !== null && typeof inner !== 'string')) throw foreignCursor();
  return { at, ...(inner !== null && { cursor: inner }) };
}

function decoded(cursor: unknown): readonly unknown[] {
  if (typeof cursor !== 'string' || cursor.length > LONGEST_URI) return [];
  try {
    const parsed: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    return Array.isArray(parsed) ? parsed : [];
  } catch {
    return [];
  }
}

function foreignCursor(): RpcError {
  return new RpcError(INVALID_PARAMS, 'The cursor is not one that this list gave; start again without it.');
}

const SCHEME = 'guide://';
const MARKDOWN = 'text/markdown';

function isGuideUri(uri: string): boolean {
  return uri.startsWith(SCHEME);
}

/** For everybody but clients of capsules, who see the tools of their capsule and what belongs to these. */
function guideResources(principal: Principal): object[] {
  if (capsuleIn(principal)) return [];
  return guides.map(({ name, title, summary, markdown }) => ({
    uri: `${SCHEME}${name}`,
    name,
    title,
    description: summary,
    mimeType: MARKDOWN,
    size: Buffer.byteLength(markdown),
  }));
}

function readGuide(principal: Principal, uri: string): Result {
  const guide = capsuleIn(principal) ? undefined : findGuide(uri.slice(SCHEME.length));
  if (guide) return { contents: [{ uri, mimeType: MARKDOWN, text: guide.markdown }] };
  throw new RpcError(INVALID_PARAMS, 'There is no guide at this URI; resources/list shows those there are.', { uri });
}
