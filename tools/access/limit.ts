import type { Need } from './grants.ts';

type Value = string | number | boolean;

/** The records that a right is limited to: those that go by one of the names and hold all of the members. */
export interface Limit {
  /** Any, where absent. */
  readonly names?: readonly string[] | undefined;
  readonly members?: Readonly<Record<string, Value>> | undefined;
}

/** Limits by resource and operation; undefined where there is none. */
export type Limits = (resource: string, op: string) => Limit | undefined;

export const NO_RECORD: Limit = { names: [] };

export function isNothing({ names }: Limit): boolean {
  return names?.length === 0;
}

/** What both let through. */
export function bothLimited(one: Limit | undefined, other: Limit | undefined): Limit | undefined {
  if (!one || !other) return one ?? other;
  const members = { ...one.members, ...other.members };
  if (Object.entries(one.members ?? {}).some(([member, value]) => members[member] !== value)) return NO_RECORD;
  const names = one.names && other.names ? one.names.filter((name) => other.names?.includes(name)) : undefined;
  return { names: names ?? one.names ?? other.names, members };
}

/** Whether the limit lets the record of the need through. A need that is about no single record goes beyond every limit. */
export function fits({ names, members = {} }: Limit, { ids, record }: Need): boolean {
  if (!ids || (names && !ids.some((id) => names.includes(id)))) return false;
  return Object.entries(members).every(([member, value]) => holds(record, member, value));
}

/** As filters of the store judge it: an array holds what is in it. */
function holds(record: object | undefined, member: string, value: Value): boolean {
  if (!record || !Object.hasOwn(record, member)) return false;
  const held: unknown = record[member as keyof typeof record];
  return Array.isArray(held) ? held.includes(value) : held === value;
}
