import type { Where } from '../../../store/port.ts';
import type { Need } from './grants.ts';

type Value = string | number | boolean;

/** The records that a right is limited to: those that have one of the names and all of the members. */
export interface RecordLimit {
  /** Undefined: records with any name. */
  readonly names?: readonly string[] | undefined;
  readonly members?: Readonly<Record<string, Value>> | undefined;
}

/** The limit for a resource and operation. Undefined if there is none. */
export type RecordLimits = (resource: string, op: string) => RecordLimit | undefined;

export const NO_RECORD: RecordLimit = { names: [] };

export function admitsNothing({ names }: RecordLimit): boolean {
  return names?.length === 0;
}

/** The limit that admits what both admit. */
export function intersectLimits(one: RecordLimit | undefined, other: RecordLimit | undefined): RecordLimit | undefined {
  if (!one || !other) return one ?? other;
  const members = { ...one.members, ...other.members };
  if (Object.entries(one.members ?? {}).some(([member, value]) => members[member] !== value)) return NO_RECORD;
  const names = one.names && other.names ? one.names.filter((name) => other.names?.includes(name)) : undefined;
  return { names: names ?? one.names ?? other.names, members };
}

/** Whether the limit admits the record of the need. A need that is about no single record is never admitted. */
export function admits({ names, members = {} }: RecordLimit, { ids, record }: Need): boolean {
  if (!ids || (names && !ids.some((id) => names.includes(id)))) return false;
  return Object.entries(members).every(([member, value]) => holds(record, member, value));
}

/** Compares as filters of the store do: an array matches each of its items. */
function holds(record: object | undefined, member: string, value: Value): boolean {
  if (!record || !Object.hasOwn(record, member)) return false;
  const held: unknown = record[member as keyof typeof record];
  return Array.isArray(held) ? held.includes(value) : held === value;
}

/** The filter for records a principal is limited to, by the members its grants may name them with. */
export function whereAllowed<Record>(
  limit: RecordLimit | undefined,
  ...byName: (keyof Record & string)[]
): readonly Where<Record>[] | undefined {
  if (!limit) return undefined;
  const { names, members } = limit;
  // TypeScript does not keep the types of computed member names.
  if (!names) return [members as Where<Record>];
  // A member that the filter already has keeps its value, so only grants with this name match.
  const alike = byName.filter((member) => members?.[member] === undefined || names.includes(String(members[member])));
  return alike.map((member) => ({ [member]: names, ...members }) as Where<Record>);
}
