import { LONGEST_SECRET, withoutCredentials } from '../access/key-secret.ts';

/** How much of a value can still be shown. It never counts more characters than the JSON has. */
export class SizeBudget {
  #left: number;

  constructor(characters: number) {
    this.#left = characters;
  }

  get left(): number {
    return Math.max(this.#left, 0);
  }

  take(characters: number): void {
    this.#left -= characters;
  }
}

/** The value as far as it fits, unchanged but for credentials in its texts and numbers that JSON cannot hold. */
export function truncated(value: unknown, room: SizeBudget): unknown {
  if (typeof value === 'string') {
    const near = value.length > room.left ? value.slice(0, room.left + LONGEST_SECRET) : value;
    const shown = withoutCredentials(near).slice(0, room.left);
    room.take(value.length + 2);
    return shown;
  }
  if (Array.isArray(value)) return mapItems(value, room, (item) => truncated(item, room));
  if (typeof value === 'object' && value !== null) return mapMembers(value, room, (item) => truncated(item, room));
  room.take(1);
  // As JSON writes it. A body can hold `1e400`, which is read as infinite.
  return typeof value === 'number' && !Number.isFinite(value) ? null : value;
}

export function mapItems(value: readonly unknown[], room: SizeBudget, show: (item: unknown) => unknown): unknown[] {
  room.take(2);
  const shown: unknown[] = [];
  for (let at = 0; at < value.length && room.left > 0; at += 1) shown.push(show(value[at]));
  return shown;
}

export function mapMembers(
  value: object,
  room: SizeBudget,
  show: (item: unknown, name: string) => unknown,
): Record<string, unknown> {
  room.take(2);
  const given = value as Readonly<Record<string, unknown>>; // members are read by the object's own names
  const shown: [string, unknown][] = [];
  for (const name of Object.keys(value)) {
    if (room.left === 0) break;
    const item = given[name];
    // JSON leaves out undefined members.
    if (item === undefined) continue;
    room.take(name.length + 3);
    shown.push([withoutCredentials(name), show(item, name)]);
  }
  return Object.fromEntries(shown);
}
