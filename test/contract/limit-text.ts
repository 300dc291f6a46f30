import { z } from 'zod';
import { catalog } from '../../tools/catalog.ts';

/** By heading, what is limited and how, from the constants and schemas that enforce it. */
export type Limits = Readonly<Record<string, readonly (readonly [what: string, limit: string])[]>>;

const UNITS: readonly (readonly [number, string])[] = [
  [24 * 60 * 60 * 1000, 'day'],
  [60 * 60 * 1000, 'hour'],
  [60 * 1000, 'minute'],
  [1000, 'second'],
];

export function time(ms: number): string {
  const [size, unit] = UNITS.find(([each]) => ms >= each && ms % each === 0) ?? [1, 'ms'];
  const value = ms / size;
  if (unit === 'ms') return `${value} ms`;
  return `${count(value)} ${unit}${value === 1 ? '' : 's'}`;
}

export function bytes(value: number): string {
  const MIB = 1024 * 1024;
  return value >= MIB ? `${value / MIB} MiB` : `${value / 1024} KiB`;
}

export function count(value: number): string {
  return value.toLocaleString('en-US');
}

interface Member {
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly default?: unknown;
}

export function inputOf(tool: string, member: string): Member {
  const { input } = catalog.entries.find((entry) => entry.tool.name === tool)?.tool ?? unknown(tool);
  const { properties = {} } = z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' });
  return (properties[member] as Member | undefined) ?? unknown(`${tool}.${member}`);
}

/** The most that the member of an input may be, hold or have. */
export function most(tool: string, member: string): string {
  const { maximum, maxLength, maxItems } = inputOf(tool, member);
  return count(maximum ?? maxLength ?? maxItems ?? unknown(`a limit of ${tool}.${member}`));
}

function unknown(what: string): never {
  throw new Error(`There is no ${what}.`);
}
