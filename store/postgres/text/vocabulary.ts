import leven from 'leven';
import type { CollectionName } from '../../collections.ts';
import type { Database } from '../database.ts';
import { Values } from '../records/query.ts';
import { tables } from '../records/tables.ts';
import type { BatchedStatement, Session } from '../session.ts';

/** Words that this process knows to be in the table. Their number is bounded; a word may be added again. */
const MOST_KNOWN = 200_000;
const MOST_NEAR = 20_000;

interface MissingWord {
  readonly collection: CollectionName;
  readonly word: string;
  readonly most: number;
}

interface NearWord {
  readonly word: string;
  readonly distance: number;
}

/** The words of each collection's records, among which those of similar spelling are found. */
export class Vocabulary {
  readonly #known = new Set<string>();

  /** Adds the words of written records in their transaction. `enter` is called once it is committed. */
  toAdd(words: ReadonlyMap<CollectionName, ReadonlySet<string>>): {
    additions: readonly BatchedStatement[];
    enter(): void;
  } {
    const fresh = [...words].flatMap(([collection, of]) =>
      [...of].filter((word) => !this.#known.has(`${collection} ${word}`)).map((word) => [collection, word] as const),
    );
    const addition: BatchedStatement = {
      name: 'words',
      text: ([collections, texts]) =>
        `insert into text_words (collection, word) select * from unnest(${collections}::text[], ${texts}::text[])`,
      values: [fresh.map(([collection]) => collection), fresh.map(([, word]) => word)],
    };
    return {
      additions: fresh.length > 0 ? [addition] : [],
      enter: () => {
        if (this.#known.size > MOST_KNOWN) this.#known.clear();
        for (const [collection, word] of fresh) this.#known.add(`${collection} ${word}`);
      },
    };
  }

  /** For each word, those at this distance at most. The first or the last part of a word must be right. */
  async near(session: Session, asked: readonly MissingWord[]): Promise<NearWord[][]> {
    if (asked.length === 0) return [];
    const values = new Values();
    const texts = asked.map(({ collection, word, most }, place) => {
      const part = Math.floor(word.length / (most + 1));
      const [first, last] = [values.add(word.slice(0, part)), values.add(word.slice(-part))];
      const [shortest, longest] = [values.add(word.length - most), values.add(word.length + most)];
      return `(select distinct ${place} as place, word from text_words where collection = ${values.add(collection)}
        and (word ^@ ${first}::text or reverse(word) collate "C" ^@ reverse(${last}::text))
        and length(word) between ${shortest} and ${longest} limit ${MOST_NEAR})`;
    });
    const found = await session.query<{ place: number; word: string }>({
      text: texts.join(' union all '),
      values: values.all,
    });
    const near = asked.map((): NearWord[] => []);
    for (const { place, word } of found) {
      const { word: wanted = '', most = 0 } = asked[place] ?? {};
      const distance = leven(wanted, word);
      if (distance <= most) near[place]?.push({ word, distance });
    }
    return near;
  }
}

/** Removes the words that no record has any more, and those that are there twice. */
export async function tidyVocabulary(database: Database): Promise<void> {
  await database.patiently(async (session) => {
    await session.query({
      text: `delete from text_words a using text_words b where a.collection = b.collection and a.word = b.word and a.ctid > b.ctid`,
    });
    for (const { name, sql, definition } of tables.values()) {
      if (!definition.search) continue;
      await session.query({
        text: `delete from text_words where collection = $1
          and not exists (select 1 from ${sql} where words @@ quote_literal(word)::tsquery)`,
        values: [name],
      });
    }
  });
}
