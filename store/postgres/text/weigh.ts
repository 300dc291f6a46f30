import { Values } from '../records/query.ts';
import type { Table } from '../records/tables.ts';
import type { Session } from '../session.ts';
import type { Vocabulary } from './vocabulary.ts';

/** A word of a query, as it may stand in records. */
export interface WeighedWord {
  readonly spellings: readonly Spelling[];
  /** How much the word counts: rare words count more. */
  readonly rarity: number;
  /** Whether some record has it. */
  readonly isKnown: boolean;
  /** Whether more than COUNTED records have it. */
  readonly isCommon: boolean;
  /** The usual length of a record of the collection, in words. */
  readonly usualLength: number;
}

interface Spelling {
  /** A literal of the type tsquery. */
  readonly query: string;
  /** 1 for the word itself, less for others. */
  readonly closeness: number;
}

interface WantedWord {
  readonly term: string;
  /** Words that begin with it count too. */
  readonly isBeginning: boolean;
}

/** Records are counted up to this number; beyond, a word is common: how common no longer matters much, and only so many records are ranked. */
export const COUNTED = 10_000;
/** The share of the records that a common word is taken to be in. */
const COMMON = 0.25;
const BEGINNING = 0.6;
/** Shorter words are taken as they are. */
const SHORTEST_NEAR = 4;
/** From this length on, words may differ in two letters. */
const LONG = 8;

/** Finds out how rare the words are in each table. A word that no record has is replaced by words of similar spelling. */
export async function weigh(
  tables: readonly Table[],
  wanted: readonly WantedWord[],
  session: Session,
  vocabulary: Vocabulary,
): Promise<WeighedWord[][]> {
  if (wanted.length === 0) return tables.map(() => []);
  const own = wanted.map(spellingsOf);
  const found = await count(
    tables.map((table) => ({ table, words: own })),
    session,
  );
  const replaced = await replacements(tables, wanted, found, session, vocabulary);
  const missing = tables.flatMap((table, at) => {
    const words = wanted.map((_, place) => replaced.get(at)?.get(place) ?? []);
    return replaced.has(at) ? [{ at, table, words }] : [];
  });
  const late = new Map<number, Counts>();
  for (const [place, counts] of (await count(missing, session)).entries()) late.set(missing[place]?.at ?? 0, counts);
  return found.map(({ counts, records, usualLength }, at) =>
    wanted.map((_, place) => {
      const near = replaced.get(at)?.get(place);
      const having = (near ? late.get(at)?.counts[place] : counts[place]) ?? 0;
      const all = Math.max(records, having);
      return {
        spellings: near ?? own[place] ?? [],
        rarity: Math.log(1 + (all - having + 0.5) / (having + 0.5)),
        isKnown: having > 0,
        isCommon: having > COUNTED,
        usualLength,
      };
    }),
  );
}

type Replacements = ReadonlyMap<number, ReadonlyMap<number, Spelling[]>>;

/** By the places of the table and of the word, if there are any. */
async function replacements(
  tables: readonly Table[],
  wanted: readonly WantedWord[],
  found: readonly Counts[],
  session: Session,
  vocabulary: Vocabulary,
): Promise<Replacements> {
  const unknown = tables.flatMap(({ name: collection }, at) =>
    wanted.flatMap(({ term }, place) =>
      found[at]?.counts[place] !== 0 || term.length < SHORTEST_NEAR
        ? []
        : [{ at, place, collection, word: term, most: term.length < LONG ? 1 : 2 }],
    ),
  );
  const replaced = new Map<number, Map<number, Spelling[]>>();
  for (const [of, near] of (await vocabulary.near(session, unknown)).entries()) {
    // The vocabulary may still have the word itself, of records that are gone.
    const others = near.filter(({ distance }) => distance > 0);
    const { at, place } = unknown[of] ?? { at: 0, place: 0 };
    if (others.length === 0) continue;
    const words = replaced.get(at) ?? new Map<number, Spelling[]>();
    replaced.set(at, words);
    words.set(
      place,
      others.map(({ word, distance }) => ({ query: `'${word}'`, closeness: 0.6 / distance })),
    );
  }
  return replaced;
}

function spellingsOf({ term, isBeginning }: WantedWord): Spelling[] {
  const own = { query: `'${term}'`, closeness: 1 };
  return isBeginning ? [own, { query: `'${term}':*`, closeness: BEGINNING }] : [own];
}

interface Counts {
  readonly counts: readonly number[];
  readonly records: number;
  readonly usualLength: number;
}

interface CountedWords {
  readonly table: Table;
  readonly words: readonly (readonly Spelling[])[];
}

async function count(asked: readonly CountedWords[], session: Session): Promise<Counts[]> {
  if (asked.length === 0) return [];
  const values = new Values();
  const texts = asked.map(({ table: { sql }, words }, place) => {
    const counted = words.map((spellings) => {
      if (spellings.length === 0) return '0';
      const any = values.add(spellings.map(({ query }) => query).join(' | '));
      return `agent_admin_count_words('${sql}', ${any}::tsquery, ${COUNTED + 1})`;
    });
    return `select ${place} as place, array[${counted.join(', ')}]::integer[] as counts,
      (select count(*) from (select 1 from ${sql} limit ${COUNTED + 1}) x)::integer as counted,
      (select reltuples from pg_class where oid = '${sql}'::regclass)::float8 as estimate,
      (select avg(words_length) from (select words_length from ${sql} order by created_at, id limit 1000) x)::float8 as length`;
  });
  const rows = await session.query<Row>({ text: `${texts.join(' union all ')} order by place`, values: values.all });
  return rows.map(({ counts, counted, estimate, length }) => {
    const records = counted > COUNTED ? Math.max(estimate, counted) : counted;
    return {
      counts: counts.map((having) => (having > COUNTED ? Math.max(having, records * COMMON) : having)),
      records,
      usualLength: Math.max(1, length ?? 1),
    };
  });
}

interface Row {
  readonly counts: readonly number[];
  readonly counted: number;
  readonly estimate: number;
  readonly length: number | null;
}
