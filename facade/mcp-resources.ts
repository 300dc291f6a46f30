import { INTERNAL_ERROR, INVALID_PARAMS, type Result } from '@modelcontextprotocol/server';
import { type Address, addresses } from '../resources/addresses.ts';
import { type ErrorBody, errorStatus } from '../resources/error.ts';
import type { Registry } from '../tools/registry.ts';
import { callTool, type DoorParts, type UnderWay } from './mcp-calls.ts';
import { RpcError } from './mcp-message.ts';
import { isTemplate, parseUri, uriOf } from './mcp-resource-uri.ts';

type Members = Readonly<Record<string, unknown>>;
type Parts = Pick<DoorParts, 'registry'>;

/** The newest of each kind are listed; older ones are found by the list tools. */
const NEWEST = 100;
/** A page ends with the kind of record that brings it to this many. */
const PAGE = 100;
const LONGEST_URI = 2000;
const LONGEST_NAME = 100;

/** `resources/templates/list` */
export async function listTemplates({ registry }: Parts, { exchange }: UnderWay, { cursor }: Members): Promise<Result> {
  if (cursor !== undefined) throw foreignCursor();
  const seen = visibleTools(registry, exchange.principal);
  const shown = addresses.filter((address) => isTemplate(address) && seen.has(address.readTool));
  return {
    resourceTemplates: shown.map(({ uriTemplate, title, description, mimeType }) => ({
      uriTemplate,
      name: title,
      title,
      description,
      ...(mimeType && { mimeType }),
    })),
  };
}

/** `resources/list`: what the list tools answer to the caller. */
export async function listResources({ registry }: Parts, visit: UnderWay, { cursor }: Members): Promise<Result> {
  const seen = visibleTools(registry, visit.exchange.principal);
  const shown = addresses.filter(({ listTool, readTool }) => seen.has(listTool ?? readTool));
  const rest = addresses.slice(cursor === undefined ? 0 : readCursor(cursor));
  const resources: object[] = [];
  for (const address of rest) {
    if (resources.length >= PAGE) return { resources, nextCursor: cursorAt(address) };
    if (visit.flight.aborted) break;
    if (shown.includes(address)) resources.push(...(await resourcesAt(registry, visit, address)));
  }
  return { resources };
}

async function resourcesAt(registry: Registry, visit: UnderWay, address: Address): Promise<object[]> {
  if (!isTemplate(address)) return [describeResource(address, { name: address.title })];
  if (!address.listTool) return [];
  const answer = await callOwn(registry, visit, address.listTool, { limit: NEWEST });
  if (answer.ok) return (answer.output as { data: Members[] }).data.map((record) => describeResource(address, record)); // a page
  if (answer.error.code === 'forbidden') return [];
  throw toolFailure(answer.error);
}

/** A call of the door's own making: arguments that are fixed for the caller stand in the place of those it would give. */
export function callOwn(registry: Registry, visit: UnderWay, name: string, input: Members) {
  const tool = registry.find(name);
  const fixed = (tool && visit.exchange.principal.tools?.fixed?.(tool)) ?? {};
  const open = Object.entries(input).filter(([argument]) => !Object.hasOwn(fixed, argument));
  return callTool(registry, visit, { name, arguments: Object.fromEntries(open) });
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

/** `resources/read`: the call of the record's read tool, shown as a resource. */
export async function readResource({ registry }: Parts, visit: UnderWay, { uri }: Members): Promise<Result> {
  if (typeof uri !== 'string' || uri.length > LONGEST_URI) {
    throw new RpcError(INVALID_PARAMS, `Invalid params: uri is a text of at most ${LONGEST_URI} characters.`);
  }
  const named = parseUri(uri);
  if (!named) {
    const message = 'No resource has a URI of this form; resources/templates/list shows the forms there are.';
    throw new RpcError(INVALID_PARAMS, message, { uri });
  }
  const { address, input } = named;
  const answer = await callTool(registry, visit, { name: address.readTool, arguments: input });
  if (!answer.ok) throw toolFailure(answer.error, { uri });
  return { contents: [{ uri, ...contentOf(address, answer.output as Members) }] }; // a tool's output is an object by its schema
}

function contentOf({ mimeType, text, blob }: Address, record: Members) {
  const type = mimeType ?? record.mimeType;
  if (text !== undefined && typeof record[text] === 'string') return { mimeType: type, text: record[text] };
  if (blob !== undefined && typeof record[blob] === 'string') return { mimeType: type, blob: record[blob] };
  return { mimeType: 'application/json', text: JSON.stringify(record) };
}

/** The error of a tool as one of the protocol. Data of nothing but the URI tells SDKs that there is no such resource. */
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

/** Names of the tools that the principal's own tool list shows. Calling them is still checked like any call. */
export function visibleTools(registry: Registry, principal: UnderWay['exchange']['principal']): ReadonlySet<string> {
  return new Set(registry.list(principal).map(({ tool }) => tool.name));
}

function cursorAt({ uriTemplate }: Address): string {
  return Buffer.from(`resources ${uriTemplate}`).toString('base64url');
}

function readCursor(cursor: unknown): number {
  const found = addresses.findIndex((address) => cursorAt(address) === cursor);
  if (found < 0) throw foreignCursor();
  return found;
}

function foreignCursor(): RpcError {
  return new RpcError(INVALID_PARAMS, 'The cursor is not one that this list gave; start again without it.');
}
