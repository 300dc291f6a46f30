import { z } from 'zod';
import { agentNames, type NamedBeside, toolArguments } from '../../resources/markers.ts';
import type { Readers } from '../../store/port.ts';
import { agentNamed } from '../access/subjects.ts';
import type { Catalog } from './catalog-index.ts';
import { unwrap } from './validate.ts';

/** Where in a value agents are named. */
interface Places {
  /** The members that hold arguments of tools: of the tools they are keyed by, or of the tool that another member names. */
  readonly calls?: { readonly byName: true } | { readonly tool: string; readonly arguments: string };
  readonly named?: { readonly beside?: NamedBeside | undefined };
  readonly members?: ReadonlyMap<string, Places>;
  readonly items?: Places;
}

const known = new WeakMap<z.ZodType, Places>();
const NOWHERE: Places = {};
const LOOKS_LIKE_AN_ID = /^[a-z]{3}_[0-9a-z]{26}$/;

/** A name may not look like an id, since it would not be clear which agent is meant. */
export function looksLikeId(text: string): boolean {
  return LOOKS_LIKE_AN_ID.test(text);
}

interface Parts {
  readonly store: Pick<Readers, 'agents'>;
  readonly catalog: Pick<Catalog, 'get'>;
}

/** The parsed input with ids instead of names of agents. A name that no agent has stays, and is then not found. */
export async function withAgentIds(
  schema: z.ZodType,
  input: object,
  store: Parts['store'],
  catalog: Parts['catalog'],
): Promise<object> {
  const places = placesIn(schema);
  if (places === NOWHERE) return input;
  return (await resolved(places, input, { store, catalog, owner: {} })) as object; // an object stays one
}

function placesIn(schema: z.ZodType): Places {
  let places = known.get(schema);
  if (!places) {
    places = find(schema);
    known.set(schema, places);
  }
  return places;
}

function find(schema: unknown): Places {
  const bare = unwrap(schema);
  const marked =
    (schema instanceof z.ZodType && agentNames.get(schema)) || (bare instanceof z.ZodType && agentNames.get(bare));
  if (marked) return { named: { beside: marked.beside } };
  if (bare instanceof z.ZodArray) {
    const items = find(bare.element);
    return items === NOWHERE ? NOWHERE : { items };
  }
  const holds = bare instanceof z.ZodType ? toolArguments.get(bare) : undefined;
  const calls = holds && ('byName' in holds || holds.kept) ? { calls: holds } : undefined;
  if (!(bare instanceof z.ZodObject)) return calls ?? NOWHERE;
  const found = Object.entries(bare.shape).map(([name, member]) => [name, find(member)] as const);
  const members = new Map(found.filter(([, places]) => places !== NOWHERE));
  return members.size > 0 || calls ? { members, ...calls } : NOWHERE;
}

interface Around extends Parts {
  readonly owner: Readonly<Record<string, unknown>>;
}

async function resolved(places: Places, value: unknown, around: Around): Promise<unknown> {
  const { named, items } = places;
  if (named) return idOf(value, named, around);
  if (items) return Array.isArray(value) ? Promise.all(value.map((item) => resolved(items, item, around))) : value;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const own = value as Readonly<Record<string, unknown>>; // parsed by the schema of an object
  const changed: Record<string, unknown> = { ...own };
  for (const [name, inner] of [...(places.members ?? []), ...callsIn(places, own, around.catalog)]) {
    if (own[name] !== undefined) changed[name] = await resolved(inner, own[name], { ...around, owner: own });
  }
  return changed;
}

async function idOf(value: unknown, { beside }: NonNullable<Places['named']>, { store, owner }: Around) {
  if (typeof value !== 'string' || looksLikeId(value) || (beside && owner[beside.member] !== beside.is)) return value;
  return (await agentNamed(store, value))?.id ?? value;
}

/** The members that hold arguments of tools. */
function callsIn({ calls }: Places, own: Readonly<Record<string, unknown>>, catalog: Parts['catalog']) {
  if (!calls) return [];
  const named = 'byName' in calls ? Object.keys(own).map((name) => [name, name]) : [[calls.arguments, own[calls.tool]]];
  return named.flatMap(([member, name]): [string, Places][] => {
    const tool = typeof name === 'string' ? catalog.get(name)?.tool : undefined;
    return tool && typeof member === 'string' ? [[member, placesIn(tool.input)]] : [];
  });
}
