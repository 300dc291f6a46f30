import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

type Random = () => number;
type Mutator = (input: string, tools: Mutators) => string;

/** Longer ones only take time. */
const LONGEST = 100_000;
const MOST_CHANGES = 5;
const BYTES = [
  '\0',
  '\t',
  '\r',
  '\n',
  ' ',
  '"',
  '%',
  '&',
  "'",
  '*',
  ',',
  '/',
  ':',
  ';',
  '=',
  '\\',
  '{',
  '}',
  '\x7f',
  '\xff',
];
const NUMBERS = [
  '0',
  '-0',
  '-1',
  '1',
  '1e400',
  '0.1',
  '2147483648',
  '9007199254740993',
  '18446744073709551616',
  '00',
  'NaN',
];
const VALUES: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -0,
  -1,
  1.5,
  1e300,
  2 ** 53,
  '',
  '\ud800',
  '\0',
  [],
  {},
  [[]],
];
const NAMES = ['__proto__', 'constructor', 'toString', 'length', 'then', 'id', ''];

/** Changes inputs: their bytes, their lines, their JSON, and words of the sources in them. */
export class Mutators {
  readonly random: Random;
  readonly words: readonly string[];
  /** Inputs of which parts are taken. */
  readonly others: readonly string[];

  constructor(random: Random, words: readonly string[], others: readonly string[]) {
    this.random = random;
    this.words = words;
    this.others = others;
  }

  mutated(input: string): string {
    let changed = input;
    for (let left = 1 + this.below(MOST_CHANGES); left > 0; left -= 1) changed = this.pick(mutators)(changed, this);
    return changed.slice(0, LONGEST);
  }

  below(end: number): number {
    return Math.floor(this.random() * end);
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)] as Item; // lists here are not empty
  }

  word(): string {
    return this.pick(this.random() < 0.7 && this.words.length > 0 ? this.words : [...BYTES, ...NUMBERS, ...NAMES]);
  }

  /** A place and the end of a short stretch behind it. */
  stretch(input: string): [number, number] {
    const start = this.below(input.length + 1);
    return [start, Math.min(input.length, start + 1 + this.below(this.random() < 0.8 ? 8 : input.length))];
  }
}

const replaced = (input: string, [start, end]: [number, number], by: string) =>
  input.slice(0, start) + by + input.slice(end);

const mutators: readonly Mutator[] = [
  (input, tools) => {
    const at = tools.below(input.length + 1);
    const flipped = (input.charCodeAt(at) || 0) ^ (1 << tools.below(8));
    return replaced(input, [at, at + 1], String.fromCharCode(flipped));
  },
  (input, tools) => replaced(input, tools.stretch(input), ''),
  (input, tools) => replaced(input, tools.stretch(input), tools.word()),
  (input, tools) => {
    const at = tools.below(input.length + 1);
    return replaced(input, [at, at], tools.word());
  },
  (input, tools) => replaced(input, tools.stretch(input), tools.pick(BYTES)),
  // Says a stretch again, sometimes many times.
  (input, tools) => {
    const [start, end] = tools.stretch(input);
    const times = tools.random() < 0.1 ? 1 + tools.below(1000) : 1;
    return replaced(input, [end, end], input.slice(start, end).slice(0, 200).repeat(times));
  },
  // Takes a stretch of another input.
  (input, tools) => {
    const other = tools.pick(tools.others.length > 0 ? tools.others : [input]);
    return replaced(input, tools.stretch(input), other.slice(...tools.stretch(other)));
  },
  // Another word or number in the place of one.
  (input, tools) => {
    const found = [...input.matchAll(tools.random() < 0.3 ? /\d+/g : /[\w.%-]+/g)];
    if (found.length === 0) return input;
    const { index, 0: text } = tools.pick(found);
    return replaced(input, [index, index + text.length], /^\d+$/.test(text) ? tools.pick(NUMBERS) : tools.word());
  },
  // A line is left out, said twice or moved.
  (input, tools) => {
    const lines = input.split('\n');
    const [line = ''] = lines.splice(tools.below(lines.length), tools.random() < 0.7 ? 1 : 0);
    if (tools.random() < 0.6) lines.splice(tools.below(lines.length + 1), 0, line);
    return lines.join('\n');
  },
  mutatedJson,
  mutatedJson,
];

function mutatedJson(input: string, tools: Mutators): string {
  const start = input.search(/[{[]/);
  const end = Math.max(input.lastIndexOf('}'), input.lastIndexOf(']')) + 1;
  if (start < 0 || end <= start) return input;
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(input.slice(start, end), 'latin1').toString('utf8'));
  } catch {
    return input;
  }
  const json = Buffer.from(JSON.stringify(changedValue(value, tools)) ?? '').toString('latin1');
  return replaced(input, [start, end], json);
}

function changedValue(value: unknown, tools: Mutators): unknown {
  const entries = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  if (entries.length === 0 || tools.random() < 0.15) return oddValue(value, tools);
  const at = tools.below(entries.length);
  const [name, member] = entries[at] ?? ['', undefined];
  const chance = tools.random();
  if (chance < 0.12) entries.splice(at, 1);
  else if (chance < 0.24) entries.push([tools.word(), oddValue(member, tools)]);
  else if (chance < 0.3) entries[at] = [tools.word(), member];
  else entries[at] = [name, changedValue(member, tools)];
  if (Array.isArray(value)) return entries.map(([, item]) => item);
  return Object.fromEntries(entries); // members called `__proto__` become own ones
}

function oddValue(value: unknown, tools: Mutators): unknown {
  const chance = tools.random();
  if (chance < 0.35) return tools.word();
  if (chance < 0.75) return tools.pick(VALUES);
  if (chance < 0.85) return [value];
  if (chance < 0.95) return { [tools.word()]: value };
  return typeof value === 'string' ? value.repeat(1 + tools.below(1000)).slice(0, 10_000) : [value, value];
}

/** The text literals of the sources, each once. */
export function wordsOf(root: string, sources: readonly string[]): string[] {
  const words = new Set<string>();
  for (const file of sources.flatMap((source) => filesOf(join(root, source)))) {
    for (const [, word = ''] of readFileSync(file, 'utf8').matchAll(/['"`]([^'"`\n]{1,40})['"`]/g)) words.add(word);
  }
  return [...words]
    .filter((word) => !/^\.{1,2}\/|^node:/.test(word))
    .map((word) => Buffer.from(word).toString('latin1'));
}

function filesOf(path: string): string[] {
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .sort()
    .map((name) => join(path, name));
}
