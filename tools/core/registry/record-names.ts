import { z } from 'zod';
import { type NamedType, recordNames, toolArguments } from '../../../resources/markers.ts';
import type { Reader, Readers } from '../../../store/port.ts';
import type { GuardedTool } from '../access/guarded-tool.ts';
import type { Principal } from '../access/principal.ts';
import { mayRead } from '../access/read-access.ts';
import { neededRights } from '../access/requirement.ts';
import { invalidMember, type ToolError } from '../errors.ts';
import { oncePer } from '../once-per.ts';
import type { Catalog } from './catalog-index.ts';
import { formatPath, unwrap } from './validate.ts';

interface Places {
  /** The members that hold arguments of tools: of the tools they are keyed by, or of the tool that another member names. */
  readonly calls?: { readonly byName: true } | { readonly tool: string; readonly arguments: string };
  readonly named?: { readonly names: readonly NamedType[]; readonly beside?: string | undefined };
  readonly members?: readonly (readonly [name: string, inner: Places])[];
  readonly items?: Places;
}

const NOWHERE: Places = {};
const LOOKS_LIKE_AN_ID = /^[a-z]{3}_[0-9a-z]{26}$/;

/** A name may not look like an id, since it would not be clear which record is meant. */
export function looksLikeId(text: string): boolean {
  return LOOKS_LIKE_AN_ID.test(text);
}

type Finding = Pick<Catalog, 'get' | 'entries'>;

interface Naming {
  readonly store: Pick<Readers, 'agents' | 'skills' | 'flows'>;
  readonly catalog: Finding;
  readonly principal: Principal;
}

/** The parsed input with ids instead of names of records; unknown names stay. Answers without waiting where there are no names. */
export function withRecordIds(schema: z.ZodType, input: object, naming: Naming): object | Promise<object> {
  const places = placesIn(schema);
  if (places === NOWHERE || namesIn(places, input, naming.catalog).length === 0) return input;
  return withIds(places, structuredClone(input), naming);
}

/** Changes the input, which must be a copy. */
async function withIds(places: Places, copy: object, naming: Naming) {
  for (const named of namesIn(places, copy, naming.catalog)) {
    const found = await recordNamed(named, naming);
    named.holder[named.member] = found?.id ?? named.name;
  }
  return copy;
}

/** The names in the parsed input that no record has which the principal may know, with the types they could be of. */
export async function unknownNames(schema: z.ZodType, input: object, naming: Naming): Promise<readonly Named[]> {
  const names = namesIn(placesIn(schema), input, naming.catalog);
  const found = await Promise.all(names.map((named) => recordNamed(named, naming)));
  return names.filter((_, index) => found[index] === undefined);
}

/** The record of this name, if the principal may know of it. @throws ToolError (invalid_input) that names the ids, if there are several */
async function recordNamed({ name, types, path }: Named, naming: Naming) {
  const each = types.map(async (type) => {
    const records = await recordsNamed(type, name, naming.store);
    const known = await Promise.all(records.map((record) => mayKnow(type, record, naming)));
    return records.filter((_, index) => known[index]);
  });
  const found = (await Promise.all(each)).flat();
  if (found.length > 1) throw ambiguous(types, { name, path: formatPath(path) }, found);
  return found[0];
}

type ReadableRecord = Parameters<typeof mayRead>[3];

/** Whoever may read the record knows its name. Grants also name agents, so whatever may be done to an agent is enough. */
async function mayKnow(type: NamedType, record: ReadableRecord, { catalog, principal }: Naming): Promise<boolean> {
  const may = (tool: GuardedTool, member: string) => mayRead(principal, tool, { [member]: record.id }, record);
  const read = catalog.get(`get_${type}`)?.tool;
  if (read && (await may(read, 'id'))) return true;
  if (type !== 'agent') return false;
  for (const { tool } of catalog.entries) {
    const about = neededRights(tool.access).find(({ resource, parameter }) => resource === type && parameter);
    if (about?.parameter && (await may(tool, about.parameter))) return true;
  }
  return false;
}

type NamedValue = Readonly<Record<'name' | 'path', string>>;

function ambiguous(
  types: readonly NamedType[],
  { name, path }: NamedValue,
  found: readonly ReadableRecord[],
): ToolError {
  const ids = found.slice(0, 10).map(({ id }) => id);
  const several = types.length === 1 ? `${types[0]}s` : 'records';
  return invalidMember(
    path,
    `Several ${several} have the name ${JSON.stringify(name)}; give the id of one: ${ids.join(', ')}${found.length > ids.length ? ' or another' : ''}.`,
  );
}

const placesIn = oncePer((schema: z.ZodType): Places => find(schema));

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
  readonly path: readonly PropertyKey[];
  readonly name: string;
  readonly types: readonly NamedType[];
}

/** The names in the input that stand where an id could. */
function namesIn(places: Places, input: object, catalog: Finding): Named[] {
  const names: Named[] = [];
  const walk = (
    { named, items, members = [], calls }: Places,
    holder: Holder,
    path: readonly PropertyKey[],
    owner = holder,
  ) => {
    const member = path.at(-1) ?? '';
    const value = holder[member];
    if (named && typeof value === 'string' && !looksLikeId(value)) {
      const { names: all, beside } = named;
      const types = beside === undefined ? all : all.filter((type) => owner[beside] === type);
      if (types.length > 0) names.push({ holder, member, path: path.slice(1), name: value, types });
    }
    if (typeof value !== 'object' || value === null) return;
    const inside = value as Holder; // every object is one
    if (items && Array.isArray(value)) for (const index of value.keys()) walk(items, inside, [...path, index], owner);
    if (Array.isArray(value)) return;
    for (const [name, inner] of members) walk(inner, inside, [...path, name]);
    if (calls) {
      for (const [name, inner] of callsIn(calls, inside, catalog)) walk(inner, inside, [...path, name]);
    }
  };
  walk(places, { input }, ['input']);
  return names;
}

function callsIn(calls: NonNullable<Places['calls']>, own: Holder, catalog: Finding) {
  const named = 'byName' in calls ? Object.keys(own).map((name) => [name, name]) : [[calls.arguments, own[calls.tool]]];
  return named.flatMap(([member, name]): [string, Places][] => {
    const tool = typeof name === 'string' ? catalog.get(name)?.tool : undefined;
    return tool && typeof member === 'string' ? [[member, placesIn(tool.input)]] : [];
  });
}

interface NamedRecord {
  readonly id: string;
  readonly name: string;
  readonly [member: string]: unknown;
}

const COLLECTIONS = { agent: 'agents', skill: 'skills', flow: 'flows' } as const satisfies Record<NamedType, string>;

const CURRENT = { agent: { status: ['active', 'paused'] }, skill: {}, flow: {} } as const;

/** This many records of one name are looked at. */
const MOST_ALIKE = 100;

/** The records of the type that have this name, whoever may see them. Names are stored with composed characters. */
export async function recordsNamed(
  type: NamedType,
  text: string,
  store: Pick<Readers, 'agents' | 'skills' | 'flows'>,
): Promise<readonly NamedRecord[]> {
  const where = { name: text.trim().normalize('NFC'), ...CURRENT[type] };
  const reader: Pick<Reader<NamedRecord & { readonly status?: unknown }>, 'find'> = store[COLLECTIONS[type]];
  return (await reader.find({ where, limit: MOST_ALIKE })).records;
}
