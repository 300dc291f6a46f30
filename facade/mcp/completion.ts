import { INTERNAL_ERROR, INVALID_PARAMS, type Result } from '@modelcontextprotocol/server';
import type { z } from 'zod';
import { errorStatus } from '../../resources/error.ts';
import type { searchResult } from '../../resources/search.ts';
import { collections } from '../../store/collections.ts';
import type { RequestContext } from '../http/request-context.ts';
import { type Address, addresses } from './addresses.ts';
import { callTool, type McpDeps } from './calls.ts';
import { isObject, RpcError } from './message.ts';
import { findPrompt } from './prompts.ts';
import { variablesOf } from './resource-uri.ts';
import { callOwn, visibleTools } from './resources.ts';

type Members = Readonly<Record<string, unknown>>;
type RegistryOnly = Pick<McpDeps, 'registry'>;

/** The protocol allows no more values in one answer. */
export const MOST = 100;
const LONGEST = 2000;
const LONGEST_QUERY = 500;
const NOTHING = { values: [], hasMore: false };

interface CompletionRequest {
  readonly ref: Members;
  readonly name: string;
  readonly value: string;
  readonly given: Members;
}

/** `completion/complete`: ids of the newest records that fit by id or name, then what the search finds. */
export async function complete({ registry }: RegistryOnly, context: RequestContext, params: Members): Promise<Result> {
  const wanted = readParams(params);
  const { ref, name } = wanted;
  if (ref.type === 'ref/prompt') {
    const { arguments: takes } = await findPrompt(registry, context, ref.name);
    if (!takes.some((argument) => argument.name === name)) throw noSuch(`The prompt takes no argument ${name}.`);
    return { completion: NOTHING };
  }
  const address = addresses.find(({ uriTemplate }) => uriTemplate === ref.uri);
  if (ref.type !== 'ref/resource' || !address) {
    throw noSuch('ref names a prompt, or a template that resources/templates/list shows.');
  }
  if (!variablesOf(address).includes(name)) throw noSuch(`The template has no variable ${name}.`);
  return { completion: await idsAt(registry, context, { ...wanted, address }) };
}

async function idsAt(
  registry: McpDeps['registry'],
  context: RequestContext,
  { address, name, value, given }: CompletionRequest & { readonly address: Address },
) {
  const source = address.completions[name];
  if (!source || !visibleTools(registry, context.principal).has(source.listTool)) return NOTHING;
  const inputs = registry.find(source.listTool)?.input.shape ?? {};
  const others = variablesOf(address).filter((variable) => variable in inputs && variable in given);
  const input = { limit: MOST, ...Object.fromEntries(others.map((variable) => [variable, given[variable]])) };
  const answer = await callOwn(registry, context, source.listTool, input);
  if (!answer.ok) {
    if (errorStatus[answer.error.code] >= 500) throw new RpcError(INTERNAL_ERROR, answer.error.error);
    return NOTHING;
  }
  const { data, nextCursor } = answer.output as { data: Members[]; nextCursor: string | null }; // a page of records
  const begun = value.toLowerCase();
  const fits = (record: Members) =>
    String(record.id).toLowerCase().startsWith(begun) || String(record[source.label]).toLowerCase().includes(begun);
  const values = data.filter(fits).map(({ id }) => String(id));
  if (nextCursor === null) return { values, hasMore: false };
  const older = await search(registry, context, source.listTool, value);
  if (!older) return { values, hasMore: true };
  const all = [...new Set([...values, ...older.ids])];
  return { values: all.slice(0, MOST), hasMore: older.more || all.length > MOST };
}

/** Undefined if no text is given, or if the caller may not search or sees only a part of the list. */
async function search(registry: McpDeps['registry'], context: RequestContext, listTool: string, text: string) {
  const { principal } = context;
  const type = typeListedBy(listTool);
  const q = text.trim().slice(0, LONGEST_QUERY);
  if (!type || q === '' || !visibleTools(registry, principal).has('search')) return undefined;
  if ([listTool, 'search'].some((name) => isFixed(registry, context, name))) return undefined;
  const answer = await callTool(registry, context, { name: 'search', arguments: { q, types: [type], limit: MOST } });
  if (!answer.ok) return undefined;
  const { data, nextCursor } = answer.output as z.output<typeof searchResult>; // declared by the search tool
  return { ids: data.map(({ id }) => id), more: nextCursor !== null };
}

function isFixed(registry: McpDeps['registry'], context: RequestContext, name: string): boolean {
  const tool = registry.find(name);
  return tool !== undefined && context.principal.tools?.fixed?.(tool) !== undefined;
}

function typeListedBy(listTool: string): string | undefined {
  const { collection } = addresses.find((address) => address.listTool === listTool) ?? {};
  return Object.entries(collections).find(([name]) => name === collection)?.[1].search?.type;
}

function readParams({ ref, argument, context }: Members): CompletionRequest {
  const { name, value } = isObject(argument) ? argument : {};
  if (!isObject(ref)) throw noSuch('ref is an object.');
  if (typeof name !== 'string' || typeof value !== 'string' || value.length > LONGEST) {
    throw noSuch(`argument has a name, and a value of at most ${LONGEST} characters.`);
  }
  const given = isObject(context) && isObject(context.arguments) ? context.arguments : {};
  return { ref, name, value, given };
}

function noSuch(message: string): RpcError {
  return new RpcError(INVALID_PARAMS, `Invalid params: ${message}`);
}
