import { z } from 'zod';
import { agentNames, type NamedBeside } from '../resources/markers.ts';
import type { Readers } from '../store/port.ts';
import { agentNamed } from './access/subjects.ts';
import { unwrap } from './validate.ts';

/** Where in a value agents are named. */
interface Places {
  readonly named?: { readonly beside?: NamedBeside | undefined };
  readonly members?: ReadonlyMap<string, Places>;
  readonly items?: Places;
}

const known = new WeakMap<z.ZodType, Places>();
const NOWHERE: Places = {};
const LOOKS_LIKE_AN_ID = /^[a-z]{3}_[0-9a-z]{26}$/;

/** A name may not: by it nobody could tell whom is meant. */
export function looksLikeId(text: string): boolean {
  return LOOKS_LIKE_AN_ID.test(text);
}

/** Whether the input of this schema may name agents. */
export function namesAgents(schema: z.ZodType): boolean {
  return placesIn(schema) !== NOWHERE;
}

/** The parsed input with ids in the place of names of agents. What names none stays, to be not found. */
export async function withAgentIds(schema: z.ZodType, input: object, store: Pick<Readers, 'agents'>): Promise<object> {
  return (await resolved(placesIn(schema), input, { store, owner: {} })) as object; // an object stays one
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
  if (!(bare instanceof z.ZodObject)) return NOWHERE;
  const found = Object.entries(bare.shape).map(([name, member]) => [name, find(member)] as const);
  const members = new Map(found.filter(([, places]) => places !== NOWHERE));
  return members.size > 0 ? { members } : NOWHERE;
}

interface Around {
  readonly store: Pick<Readers, 'agents'>;
  readonly owner: Readonly<Record<string, unknown>>;
}

async function resolved({ named, members, items }: Places, value: unknown, { store, owner }: Around): Promise<unknown> {
  if (named) {
    const { beside } = named;
    if (typeof value !== 'string' || looksLikeId(value) || (beside && owner[beside.member] !== beside.is)) return value;
    return (await agentNamed(store, value))?.id ?? value;
  }
  if (items && Array.isArray(value)) return Promise.all(value.map((item) => resolved(items, item, { store, owner })));
  if (!members || typeof value !== 'object' || value === null) return value;
  const own = value as Readonly<Record<string, unknown>>; // parsed by the schema of an object
  const changed: Record<string, unknown> = { ...own };
  for (const [name, places] of members) {
    if (own[name] !== undefined) changed[name] = await resolved(places, own[name], { store, owner: own });
  }
  return changed;
}
