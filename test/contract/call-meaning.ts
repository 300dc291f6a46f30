import { fc } from '../support/property.ts';
import { anyRow } from '../tools/analytics/growing-worlds.ts';
import type { Value } from './fuzz-mutations.ts';

export type Input = Record<string, Value>;

/** Chance, the same for the same seed. */
export interface Dice {
  happens(probability: number): boolean;
  upTo(most: number): number;
  pick<Item>(items: readonly Item[]): Item;
}

export function diceOf(seed: number): Dice {
  let state = seed >>> 0;
  const next = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  return {
    happens: (probability) => next() < probability,
    upTo: (most) => Math.floor(next() * (most + 1)),
    // Lists to pick from are never empty.
    pick: <Item>(items: readonly Item[]) => items[Math.floor(next() * items.length)] as Item,
  };
}

const WORDS =
  'customer customers invoice refund Straße Éclair naïve onboarding meeting notes quarterly budget release planning Zürich café server database weekly summary'.split(
    ' ',
  );
const TEXTS = /^(title|content|description|displayName|instructions|q|summary|role|source|workspaceName|tag)$/;
const COLUMNS = [
  { name: 'a', type: 'string' },
  { name: 'n', type: 'number' },
];
const DAYS = ['2026-02-01', '2026-02-14', '2026-03-08', '2026-03-28', '2026-04-20'];

/** What is in the place of a member that was drawn, for most calls. */
type Meaning = (dice: Dice, colleague: string) => Input;
const MEANINGS: Readonly<Record<string, Meaning>> = {
  create_report: (dice) => ({ query: { tool: dice.pick(['list_agents', 'get_mrr', 'list_documents']) } }),
  update_report: (dice) => ({ query: { tool: dice.pick(['list_skills', 'get_overview']) } }),
  create_database: () => ({ columns: COLUMNS }),
  create_record: (dice) => ({ values: { a: phrase(dice), n: dice.upTo(9) } }),
  update_record: (dice) => ({ values: { n: dice.upTo(9) } }),
  list_records: (dice) => ({
    ...(dice.happens(0.5) && { filter: dice.pick([{ n: { gte: 4 } }, { a: { contains: 'O' } }, { n: dice.upTo(9) }]) }),
    ...(dice.happens(0.5) && { sort: { column: dice.pick(['a', 'n']), direction: dice.pick(['asc', 'desc']) } }),
    limit: 1 + dice.upTo(4),
  }),
  create_oauth_client: () => ({ redirectUris: ['https://example.com/back'] }),
  add_thread_access: (dice, colleague) => ({
    entries: [{ principal: { type: 'user', id: colleague }, role: dice.pick(['viewer', 'editor']) }],
  }),
  remove_thread_access: (_, colleague) => ({ principalType: 'user', principalId: colleague }),
};

/** The input with names that are free, texts that searches find, days with rows, and members that fit each other. */
export function meantInput(tool: string, input: Input, dice: Dice, colleague: string): Input {
  const spoken = Object.entries(input).map(([name, value]): [string, Value] => [name, spokenOf(name, value, dice)]);
  const { expectedRevision, ...rest } = Object.fromEntries(spoken);
  const guarded = expectedRevision === undefined || dice.happens(0.7) ? rest : { ...rest, expectedRevision };
  const changed = tool === 'take_over' ? { ...rest, expectedRevision: 1 } : guarded;
  const meaning = MEANINGS[tool];
  return meaning && dice.happens(0.85) ? { ...changed, ...meaning(dice, colleague) } : changed;
}

function spokenOf(name: string, value: Value, dice: Dice): Value {
  if (name === 'tags' && Array.isArray(value)) return value.map(() => dice.pick(WORDS));
  if (typeof value !== 'string' || dice.happens(0.1)) return value;
  if (TEXTS.test(name)) return phrase(dice);
  if (name === 'name') return `${dice.pick(WORDS)} ${dice.upTo(99)}`;
  if (name === 'from' || name === 'to') return value.includes('T') ? value : dice.pick(DAYS);
  return value;
}

function phrase(dice: Dice): string {
  return Array.from({ length: 1 + dice.upTo(4) }, () => dice.pick(WORDS)).join(' ');
}

export function rowsToImport(seed: number): Input {
  const drawn = fc.sample(anyRow, { seed, numRuns: 12 });
  const type = drawn[0]?.type ?? 'visits';
  const rows = drawn.filter((row) => row.type === type).map(({ row }) => row);
  // As JSON has them: without members that are undefined.
  return { type, records: JSON.parse(JSON.stringify(rows)) };
}
