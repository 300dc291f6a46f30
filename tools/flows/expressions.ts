import { createContext, Script } from 'node:vm';
import { Environment } from '@marcbachmann/cel-js';
import { Liquid } from 'liquidjs';

const MOST_CHARACTERS = 200_000;

/** Renders the arguments of steps. There are no files and only own members, and memory is bounded. Records inside a text become JSON. */
export const templates = new Liquid({
  ownPropertyOnly: true,
  strictFilters: true,
  parseLimit: MOST_CHARACTERS,
  memoryLimit: 2_000_000,
  outputEscape: (value) => (typeof value === 'object' && value !== null ? JSON.stringify(value) : value) as string, // the result becomes text like any other value
});
for (const tag of ['include', 'render', 'layout', 'block']) delete templates.tags[tag];

/** A path to a value that a template or condition reads. Undefined stands for a part that is known only when the flow runs. */
export type Reference = readonly (string | undefined)[];

export interface Parsed {
  readonly references: readonly Reference[];
  /** What is wrong with the text, where it cannot be parsed. */
  readonly problem?: string;
}

export function parseTemplate(text: string): Parsed {
  if (!isTemplate(text)) return { references: [] };
  try {
    const { globals } = templates.analyzeSync(templates.parse(text), { partials: false });
    const references = Object.values(globals)
      .flat()
      .map(({ segments }) => segments.map((part) => (typeof part === 'object' ? undefined : String(part))));
    return { references };
  } catch (thrown) {
    return { references: [], problem: thrown instanceof Error ? thrown.message : 'It cannot be parsed' };
  }
}

/** How long checking a template takes: the time for finding the place of each output and tag grows with the length of the text. */
export function workOf(text: string): number {
  return text.length * outputsOf(text).length;
}

/** The time for analyzing an output grows with the square of these. */
export const MOST_FILTERS = 100;
export const MOST_SEGMENTS = 50;

/** Which limit an output or tag of the template goes beyond. Takes time in proportion to the length of the text. */
export function limitProblem(text: string): string | undefined {
  for (const output of outputsOf(text)) {
    const unquoted = output.replace(QUOTED, '');
    const filters = countOf(unquoted, /\|/g);
    if (filters > MOST_FILTERS) {
      return `An output or tag has ${filters} filters; ${MOST_FILTERS} is the most. Use fewer, or several steps.`;
    }
    const paths = unquoted.split(BETWEEN_PATHS);
    const segments = paths.reduce((most, path) => Math.max(most, 1 + countOf(path, /[.[]/g)), 0);
    if (segments > MOST_SEGMENTS) {
      return `A path has ${segments} segments; ${MOST_SEGMENTS} is the most. Take the value from less deep within an output.`;
    }
  }
  return undefined;
}

const QUOTED = /"[^"]*"|'[^']*'/g;
const BETWEEN_PATHS = /[\s|,:=<>!()]+/;

function countOf(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0;
}

/** What stands in each pair of `{{ }}` or `{% %}`, and the rest of the text behind a beginning without an end. */
function outputsOf(text: string): string[] {
  const found: string[] = [];
  for (let at = text.indexOf('{'); at >= 0; at = text.indexOf('{', at + 1)) {
    const end = text[at + 1] === '{' ? '}}' : text[at + 1] === '%' ? '%}' : undefined;
    if (end === undefined) continue;
    const until = text.indexOf(end, at + 2);
    found.push(text.slice(at + 2, until < 0 ? undefined : until));
    if (until < 0) break;
    at = until;
  }
  return found;
}

export function isTemplate(text: string): boolean {
  return text.includes('{{') || text.includes('{%');
}

/** Judges the conditions of steps. They see `steps`, by id with their `output`, and the `input` of the run. */
export const conditions = new Environment().registerVariable('steps', 'map').registerVariable('input', 'dyn');

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

export const MOST_MS = 500;
const box: { work?: (() => unknown) | undefined } = {};
const context = createContext(box);
const script = new Script('work()');

export class TimeLimitExceeded extends Error {
  constructor(mostMs: number) {
    super(`it takes more than ${mostMs} ms`);
  }
}

/** Runs work and returns its result. */
export type RunWork = <Result>(work: () => Result, mostMs?: number) => Result;

/** For work that is known to be cheap. */
export const withoutTimeLimit: RunWork = (work) => work();

/**
 * Runs work that somebody else wrote and that might never end. It is stopped after `mostMs`, and nothing else runs meanwhile. This is not
 * a sandbox. Only in a side process: the limit opens files, and where none can be opened, Node.js ends the process.
 * @throws TimeLimitExceeded, and whatever the work throws
 */
export function withTimeLimit<Result>(work: () => Result, mostMs = MOST_MS): Result {
  box.work = work;
  try {
    return script.runInContext(context, { timeout: mostMs }) as Result; // the work's own result
  } catch (thrown) {
    throw isTimeout(thrown) ? new TimeLimitExceeded(mostMs) : thrown;
  } finally {
    box.work = undefined;
  }
}

/** The error comes from the other context, so `instanceof` does not work. */
function isTimeout(thrown: unknown): boolean {
  return (
    typeof thrown === 'object' && thrown !== null && 'code' in thrown && thrown.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT'
  );
}
