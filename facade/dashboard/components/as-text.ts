import { exactTime, labelOf } from '../format.ts';
import { refOfId } from '../kinds.ts';

const IDS = /\b[a-z]{3}_[0-9a-z]{20,}\b/g;
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d\S*Z$/;
const INDENT = '  ';

/** The ids of records in a line, as far as there are such kinds of records. */
export function idsIn(line: string): readonly string[] {
  return (line.match(IDS) ?? []).filter((id) => refOfId(id) !== undefined);
}

/**
 * A value as lines that are read, not parsed: texts as they are, a list as its items, an object as `Name: value`, what has many lines
 * indented below its name.
 */
export function asText(value: unknown): string {
  return (Array.isArray(value) ? itemLines(value) : linesIn(value)).join('\n');
}

function linesIn(value: unknown): string[] {
  if (value === undefined || value === null || value === '') return [];
  if (typeof value === 'string') return INSTANT.test(value) ? [exactTime(value)] : value.split('\n');
  if (typeof value === 'boolean') return [value ? 'Yes' : 'No'];
  if (Array.isArray(value)) return itemLines(value);
  if (!isNested(value)) return [String(value)];
  return Object.entries(value).flatMap(([name, member]) => memberLines(labelOf(name), member));
}

/** Named texts, as the sections of a prompt are, stand below their names; other objects after a dash. */
function itemLines(items: readonly unknown[]): string[] {
  return items.flatMap((item) => {
    if (!isNested(item)) return linesIn(item);
    const { name, text, ...rest } = item as { readonly name?: unknown; readonly text?: unknown }; // an object may have both
    if (typeof name !== 'string' || typeof text !== 'string' || Object.keys(rest).length > 0)
      return listed(linesIn(item));
    return [name, ...linesIn(text).map((line) => `${INDENT}${line}`)];
  });
}

function memberLines(name: string, member: unknown): string[] {
  const lines = linesIn(member);
  if (lines.length === 0) return [`${name}: –`];
  if (lines.length === 1 && !isNested(member)) return [`${name}: ${lines[0]}`];
  return [`${name}:`, ...lines.map((line) => `${INDENT}${line}`)];
}

/** An item of a list, which may have several lines. */
function listed([first = '–', ...rest]: readonly string[]): string[] {
  return [`- ${first}`, ...rest.map((line) => `${INDENT}${line}`)];
}

function isNested(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
