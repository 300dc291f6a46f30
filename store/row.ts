import { NumberTooLarge } from './errors.ts';

/** A record of any collection, as the code below the port sees it: frozen, JSON only, no undefined members. */
export interface Row {
  readonly id: string;
  readonly createdAt: string;
  readonly [member: string]: unknown;
}

/** A frozen deep copy of a JSON value, without undefined members. A value that JSON cannot hold is an error. */
export function frozenCopy(value: unknown, path: (string | number)[] = []): unknown {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number' && Number.isFinite(value)) return value === 0 ? 0 : value;
  if (value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY)
    throw new NumberTooLarge(path.join('.'));
  if (Array.isArray(value)) return Object.freeze(value.map((item, at) => copyOf(item, at, path)));
  if (!isPlainObject(value)) throw new Error(`a record cannot hold the value at /${path.join('/')}: it is not JSON`);
  const copy: Record<string, unknown> = {};
  for (const member of Object.keys(value)) {
    const item = value[member];
    // Assigning `__proto__` would set the prototype. Schemas drop that member when a file is read.
    if (item !== undefined && member !== '__proto__') copy[member] = copyOf(item, member, path);
  }
  return Object.freeze(copy);
}

function copyOf(item: unknown, place: string | number, path: (string | number)[]): unknown {
  if (typeof item === 'string') return item;
  path.push(place);
  const copy = frozenCopy(item, path);
  path.pop();
  return copy;
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

export function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value;
  for (const member in value) {
    const item = value[member];
    if (typeof item === 'object' && item !== null) deepFreeze(item);
  }
  return Object.freeze(value);
}
