/** Jobs for the tests of side processes. */
export function hoard(): never {
  const kept: unknown[] = [];
  for (;;) kept.push(new Array(2_000_000).fill(0.5));
}

export function spin(): never {
  for (;;);
}

export function fail(): never {
  throw new Error('It fails.');
}

export function add(one: number, other: number): number {
  return one + other;
}
