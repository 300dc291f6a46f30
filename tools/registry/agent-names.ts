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
  readonly members?: readonly (readonly [name: string, inner: Places])[];
  readonly items?: Places;
}

const known = new WeakMap<z.ZodType, Places>();
const NOWHERE: Places = {};
const LOOKS_LIKE_AN_ID = /^[a-z]{3}_[0-9a-z]{26}$/;

/** A name may not look like an id, since it would not be clear which agent is meant. */
export function looksLikeId(text: string): boolean {
  return LOOKS_LIKE_AN_ID.test(text);
}

type Finding = Pick<Catalog, 'get'>;

/**
 * The parsed input with ids instead of names of agents. A name that no agent has stays, and is then not found. Answers without waiting
 * where there are no names.
 */
export function withAgentIds(
  schema: z.ZodType,
  input: object,
  store: Pick<Readers, 'agents'>,
  catalog: Finding,
): object | Promise<object> {
  const places = placesIn(schema);
  if (places === NOWHERE || namesIn(places, input, catalog).length === 0) return input;
  return withIds(places, structuredClone(input), store, catalog);
}

/** Changes the input, which must be a copy. */
async function withIds(places: Places, copy: object, store: Pick<Readers, 'agents'>, catalog: Finding) {
  for (const { holder, member, name } of namesIn(places, copy, catalog)) {
    holder[member] = (await agentNamed(store, name))?.id ?? name;
  }
  return copy;
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
  const members = found.filter(([, places]) => places !== NOWHERE);
  return members.length > 0 || calls ? { members, ...calls } : NOWHERE;
}

/** An object of the input, or an array, whose items are then its members. */
type Holder = Record<PropertyKey, unknown>;

interface Named {
  readonly holder: Holder;
  readonly member: PropertyKey;
  readonly name: string;
}

/** The names in the input that stand where an id could. */
function namesIn(places: Places, input: object, catalog: Finding): Named[] {
  const names: Named[] = [];
  const walk = ({ named, items, members = [], calls }: Places, holder: Holder, member: PropertyKey, owner = holder) => {
    const value = holder[member];
    if (named) {
      const isMeant = !named.beside || owner[named.beside.member] === named.beside.is;
      if (isMeant && typeof value === 'string' && !looksLikeId(value)) names.push({ holder, member, name: value });
    }
    if (typeof value !== 'object' || value === null) return;
    const inside = value as Holder; // every object is one
    if (items && Array.isArray(value)) for (const index of value.keys()) walk(items, inside, index, owner);
    if (Array.isArray(value)) return;
    for (const [name, inner] of members) walk(inner, inside, name);
    if (calls) for (const [name, inner] of callsIn(calls, inside, catalog)) walk(inner, inside, name);
  };
  walk(places, { input }, 'input');
  return names;
}

/** The members that hold arguments of tools. */
function callsIn(calls: NonNullable<Places['calls']>, own: Holder, catalog: Finding) {
  const named = 'byName' in calls ? Object.keys(own).map((name) => [name, name]) : [[calls.arguments, own[calls.tool]]];
  return named.flatMap(([member, name]): [string, Places][] => {
    const tool = typeof name === 'string' ? catalog.get(name)?.tool : undefined;
    return tool && typeof member === 'string' ? [[member, placesIn(tool.input)]] : [];
  });
}
