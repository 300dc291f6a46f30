import { Values } from '../records/filters.ts';
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

export interface Spelling {
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

/** Finds out how rare the words are. A word that no record has is replaced by words of similar spelling. */
export async function weigh(
  table: Table,
  wanted: readonly WantedWord[],
  session: Session,
  vocabulary: Vocabulary,
): Promise<WeighedWord[]> {
  if (wanted.length === 0) return [];
  const spellings = wanted.map(spellingsOf);
  const { counts, records, usualLength } = await count(table, spellings, session);
  const replaced = await Promise.all(
    wanted.map(async ({ term }, at) => {
      if (counts[at] !== 0 || term.length < SHORTEST_NEAR) return undefined;
      const near = await vocabulary.near(session, table.name, term, term.length < LONG ? 1 : 2);
      // The vocabulary may still have the word itself, of records that are gone.
      const others = near.filter(({ distance }) => distance > 0);
      return others.map(({ word, distance }) => ({ query: `'${word}'`, closeness: 0.6 / distance }));
    }),
  );
  const late = replaced.some((near) => near?.length)
    ? await count(
        table,
        replaced.map((near) => near ?? []),
        session,
      )
    : undefined;
  return wanted.map((_, at) => {
    const near = replaced[at] ?? [];
    const having = (near.length > 0 ? late?.counts[at] : counts[at]) ?? 0;
    const all = Math.max(records, having);
    return {
      spellings: near.length > 0 ? near : (spellings[at] ?? []),
      rarity: Math.log(1 + (all - having + 0.5) / (having + 0.5)),
      isKnown: having > 0,
      isCommon: having > COUNTED,
      usualLength,
    };
  });
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

async function count({ sql }: Table, words: readonly (readonly Spelling[])[], session: Session): Promise<Counts> {
  const values = new Values();
  const counted = words.map((spellings) => {
    if (spellings.length === 0) return '0';
    const any = values.add(spellings.map(({ query }) => query).join(' | '));
    return `(select count(*) from (select 1 from ${sql} where words @@ ${any}::tsquery limit ${COUNTED + 1}) x)`;
  });
  const text = `select array[${counted.join(', ')}]::integer[] as counts,
    (select count(*) from (select 1 from ${sql} limit ${COUNTED + 1}) x)::integer as counted,
    (select reltuples from pg_class where oid = '${sql}'::regclass)::float8 as estimate,
    (select avg(words_length) from (select words_length from ${sql} order by created_at, id limit 1000) x)::float8 as length`;
  const [row] = await session.query<{ counts: number[]; counted: number; estimate: number; length: number | null }>({
    text,
    values: values.all,
  });
  const records = row && row.counted > COUNTED ? Math.max(row.estimate, row.counted) : (row?.counted ?? 0);
  const counts = (row?.counts ?? []).map((having) => (having > COUNTED ? Math.max(having, records * COMMON) : having));
  return { counts, records, usualLength: Math.max(1, row?.length ?? 1) };
}
