import { INTERNAL_ERROR, INVALID_PARAMS, type Result } from '@modelcontextprotocol/server';
import { type Address, addresses } from '../resources/addresses.ts';
import { errorStatus } from '../resources/error.ts';
import type { DoorParts, UnderWay } from './mcp-calls.ts';
import { isObject, RpcError } from './mcp-message.ts';
import { findPrompt } from './mcp-prompts.ts';
import { variablesOf } from './mcp-resource-uri.ts';
import { callOwn, visibleTools } from './mcp-resources.ts';

type Members = Readonly<Record<string, unknown>>;
type Parts = Pick<DoorParts, 'registry'>;

/** The newest records of a kind are offered; the protocol takes no more values in one answer. */
const MOST = 100;
const LONGEST = 2000;
const NOTHING = { values: [], hasMore: false };

interface Wanted {
  readonly ref: Members;
  /** The argument to complete, and what is there of it. */
  readonly name: string;
  readonly value: string;
  /** The other arguments, as far as they are known. */
  readonly given: Members;
}

/** `completion/complete`: ids for the variables of resource templates, by the beginning of the id or a part of the record's name. */
export async function complete({ registry }: Parts, visit: UnderWay, params: Members): Promise<Result> {
  const wanted = readParams(params);
  const { ref, name } = wanted;
  if (ref.type === 'ref/prompt') {
    const { arguments: takes } = await findPrompt(registry, visit, ref.name);
    if (!takes.some((argument) => argument.name === name)) throw noSuch(`The prompt takes no argument ${name}.`);
    return { completion: NOTHING };
  }
  const address = addresses.find(({ uriTemplate }) => uriTemplate === ref.uri);
  if (ref.type !== 'ref/resource' || !address) {
    throw noSuch('ref names a prompt, or a template that resources/templates/list shows.');
  }
  if (!variablesOf(address).includes(name)) throw noSuch(`The template has no variable ${name}.`);
  return { completion: await idsAt(registry, visit, { ...wanted, address }) };
}

async function idsAt(
  registry: DoorParts['registry'],
  visit: UnderWay,
  { address, name, value, given }: Wanted & { readonly address: Address },
) {
  const source = address.completions[name];
  if (!source || !visibleTools(registry, visit.exchange.principal).has(source.listTool)) return NOTHING;
  const inputs = registry.find(source.listTool)?.input.shape ?? {};
  const others = variablesOf(address).filter((variable) => variable in inputs && variable in given);
  const input = { limit: MOST, ...Object.fromEntries(others.map((variable) => [variable, given[variable]])) };
  const answer = await callOwn(registry, visit, source.listTool, input);
  if (!answer.ok) {
    if (errorStatus[answer.error.code] >= 500) throw new RpcError(INTERNAL_ERROR, answer.error.error);
    return NOTHING;
  }
  const { data, nextCursor } = answer.output as { data: Members[]; nextCursor: string | null }; // a page of records
  const begun = value.toLowerCase();
  const fits = (record: Members) =>
    String(record.id).toLowerCase().startsWith(begun) || String(record[source.label]).toLowerCase().includes(begun);
  return { values: data.filter(fits).map(({ id }) => String(id)), hasMore: nextCursor !== null };
}

function readParams({ ref, argument, context }: Members): Wanted {
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
