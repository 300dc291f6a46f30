import { z } from 'zod';
import type { Flow } from '../../../resources/flow.ts';
import { type NamedBeside, type NamedType, recordNames, toolArguments } from '../../../resources/markers.ts';
import type { Skill } from '../../../resources/skill.ts';
import type { Reader, Readers } from '../../../store/port.ts';
import { mayRead } from '../access/may-read.ts';
import type { Principal } from '../access/principal.ts';
import { agentNamed } from '../access/subjects.ts';
import { ToolError } from '../errors.ts';
import type { Catalog } from './catalog-index.ts';
import { unwrap } from './validate.ts';

/** Where in a value records are named. */
interface Places {
  /** The members that hold arguments of tools: of the tools they are keyed by, or of the tool that another member names. */
  readonly calls?: { readonly byName: true } | { readonly tool: string; readonly arguments: string };
  readonly named?: { readonly names: NamedType; readonly beside?: NamedBeside | undefined };
  readonly members?: readonly (readonly [name: string, inner: Places])[];
  readonly items?: Places;
}

const known = new WeakMap<z.ZodType, Places>();
const NOWHERE: Places = {};
const LOOKS_LIKE_AN_ID = /^[a-z]{3}_[0-9a-z]{26}$/;

/** A name may not look like an id, since it would not be clear which record is meant. */
export function looksLikeId(text: string): boolean {
  return LOOKS_LIKE_AN_ID.test(text);
}

type Finding = Pick<Catalog, 'get'>;

interface Naming {
  readonly store: Pick<Readers, 'agents' | 'skills' | 'flows'>;
  readonly catalog: Finding;
  readonly principal: Principal;
}

/**
 * The parsed input with ids instead of names of records. A name that no record has stays, and is then not found. Answers without waiting
 * where there are no names.
 */
export function withRecordIds(schema: z.ZodType, input: object, naming: Naming): object | Promise<object> {
  const places = placesIn(schema);
  if (places === NOWHERE || namesIn(places, input, naming.catalog).length === 0) return input;
  return withIds(places, structuredClone(input), naming);
}

/** Changes the input, which must be a copy. */
async function withIds(places: Places, copy: object, naming: Naming) {
  for (const { holder, member, name, type } of namesIn(places, copy, naming.catalog)) {
    const found = type === 'agent' ? await agentNamed(naming.store, name) : await readableNamed(type, name, naming);
    holder[member] = found?.id ?? name;
  }
  return copy;
}

const READ_BY = {
  skill: { collection: 'skills', tool: 'get_skill' },
  flow: { collection: 'flows', tool: 'get_flow' },
} as const;

/** The record with this name that the principal may read: whoever may not does not learn that there is one. @throws ToolError for several */
async function readableNamed(
  type: keyof typeof READ_BY,
  text: string,
  { store, catalog, principal }: Naming,
): Promise<{ readonly id: string } | undefined> {
  const { collection, tool: name } = READ_BY[type];
  const tool = catalog.get(name)?.tool;
  if (!tool) return undefined;
  const where = { name: text.trim().normalize('NFC') };
  const reader: Pick<Reader<Skill | Flow>, 'find'> = store[collection];
  const { records } = await reader.find({ where, limit: MOST_ALIKE });
  const readable = await Promise.all(
    records.map(async (record) => ((await mayRead(principal, tool, { id: record.id }, record)) ? [record] : [])),
  );
  const [found, ...others] = readable.flat();
  if (found && others.length > 0) throw ambiguous(type, text, [found, ...others]);
  return found;
}

/** Of so many records with one name, those that the caller may read are looked for. */
const MOST_ALIKE = 100;

function ambiguous(type: string, text: string, found: readonly { readonly id: string }[]): ToolError {
  const ids = found.slice(0, 10).map(({ id }) => id);
  const message = `Several ${type}s have the name ${JSON.stringify(text)}; give the id of one: ${ids.join(', ')}${found.length > ids.length ? ' or another' : ''}.`;
  return new ToolError('invalid_input', message, { issues: [{ path: '', message }] });
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
    (schema instanceof z.ZodType && recordNames.get(schema)) || (bare instanceof z.ZodType && recordNames.get(bare));
  if (marked) return { named: { names: marked.names, beside: marked.beside } };
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
  readonly type: NamedType;
}

/** The names in the input that stand where an id could. */
function namesIn(places: Places, input: object, catalog: Finding): Named[] {
  const names: Named[] = [];
  const walk = ({ named, items, members = [], calls }: Places, holder: Holder, member: PropertyKey, owner = holder) => {
    const value = holder[member];
    if (named) {
      const isMeant = !named.beside || owner[named.beside.member] === named.beside.is;
      if (isMeant && typeof value === 'string' && !looksLikeId(value)) {
        names.push({ holder, member, name: value, type: named.names });
      }
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
