import { fc } from '../support/property.ts';

export type Value = fc.JsonValue;

/** Values that programs trip over, of every JSON type. */
const hostile: readonly Value[] = [
  null,
  true,
  0,
  -0,
  -1,
  1.5,
  1e308,
  2 ** 53,
  Number.MIN_VALUE,
  '',
  ' ',
  'null',
  '-0',
  '\0',
  'a\0b',
  '\ud800',
  '\udfff\ud800',
  '\u202e\u200b',
  '__proto__',
  'constructor',
  '../../etc/passwd',
  '%2F%00%zz',
  '{{ "x" | append: "y" }}',
  '2026-02-30',
  '0000-01-01T00:00:00Z',
  '+275760-09-13T00:00:00.000Z',
  '9999-12-31T23:59:59.999Z',
  'x'.repeat(3000),
  [],
  [[[]]],
  [null],
  {},
  JSON.parse('{"__proto__": {"polluted": true}}'),
  { constructor: { prototype: 1 }, toString: 'x', hasOwnProperty: null },
  Array.from({ length: 200 }, () => 'x'),
];
const hostileNames = [
  ...['cursor', '__proto__', 'constructor', 'toString', 'hasOwnProperty', '', '\0', '\ud800', 'a.b', '0'],
  '$ref',
];

export function mutatedInput(valid: fc.Arbitrary<Value>): fc.Arbitrary<Value> {
  return fc
    .tuple(valid, fc.nat(), fc.constantFrom('replace', 'remove', 'add'), hostileValue, fc.constantFrom(...hostileNames))
    .map(([input, at, kind, value, name]) => mutate(input, at, kind, value, name));
}

const hostileValue = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...hostile) },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 4 }) },
);

interface Place {
  readonly holder: Record<string, Value>;
  readonly name: string;
}

function mutate(input: Value, at: number, kind: string, value: Value, name: string): Value {
  const copy = structuredClone(input);
  const places = placesIn(copy);
  const place = places[at % places.length];
  if (!place || kind === 'add') {
    const holders = [copy, ...places.map(({ holder, name }) => holder[name])].filter(isObject);
    define(holders[at % holders.length] ?? {}, name, value);
    return copy;
  }
  if (kind === 'remove' && !Array.isArray(place.holder)) delete place.holder[place.name];
  else define(place.holder, place.name, value);
  return copy;
}

function placesIn(value: Value): Place[] {
  if (typeof value !== 'object' || value === null) return [];
  const holder = value as Record<string, Value>; // arrays take their indexes as names
  return Object.keys(holder).flatMap((name) => [{ holder, name }, ...placesIn(holder[name] ?? null)]);
}

export function isObject(value: Value | undefined): value is Record<string, Value> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Sets a member as JSON.parse does, whatever its name. */
function define(holder: object, name: string, value: unknown): void {
  Object.defineProperty(holder, name, { value, enumerable: true, configurable: true, writable: true });
}
