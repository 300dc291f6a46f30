import { Environment } from '@marcbachmann/cel-js';
import type { Parsed, Reference } from './templates.ts';

/** Judges the conditions of steps. They see `steps`, by id with their `output`, and the `input` of the run. */
export const conditions = new Environment().registerVariable('steps', 'map').registerVariable('input', 'dyn');

/** The values that a condition refers to, or what is wrong with it. */
export function parseCondition(text: string): Parsed {
  try {
    const { valid, type, error } = conditions.check(text);
    if (!valid) return { references: [], problem: firstLine(error) };
    if (type !== 'bool' && type !== 'dyn') return { references: [], problem: `It gives ${type}, not true or false` };
    return { references: referencesIn(conditions.parse(text).ast) };
  } catch (thrown) {
    return { references: [], problem: firstLine(thrown) };
  }
}

/** The further lines of a message show the place in the text. */
function firstLine(error: unknown): string {
  return (error instanceof Error ? error.message : 'It cannot be parsed').split('\n', 1)[0] ?? '';
}

interface Node {
  readonly op: string;
  readonly args: unknown;
}

function referencesIn(value: unknown): Reference[] {
  if (Array.isArray(value)) return value.flatMap(referencesIn);
  if (!isNode(value)) return [];
  const path = pathOf(value);
  if (path?.[0] === 'steps') return [path, ...referencesIn(indexesOf(value))];
  return referencesIn(value.args);
}

/** The parts of `a.b["c"][d]`. Undefined if the node is not a path. */
function pathOf(node: unknown): (string | undefined)[] | undefined {
  if (!isNode(node)) return undefined;
  if (node.op === 'id') return [String(node.args)];
  if ((node.op !== '.' && node.op !== '[]') || !Array.isArray(node.args)) return undefined;
  const before = pathOf(node.args[0]);
  return before && [...before, partOf(node.args[1])];
}

function partOf(part: unknown): string | undefined {
  if (typeof part === 'string') return part;
  return isNode(part) && part.op === 'value' ? String(part.args) : undefined;
}

/** The index expressions in a path. They may contain further references. */
function indexesOf(node: unknown): unknown[] {
  if (!isNode(node) || !Array.isArray(node.args)) return [];
  const [before, part] = node.args;
  return [...indexesOf(before), ...(isNode(part) ? [part] : [])];
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'op' in value && 'args' in value;
}
