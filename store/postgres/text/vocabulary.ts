import leven from 'leven';
import type { CollectionName } from '../../collections.ts';
import type { Database } from '../database.ts';
import { tables } from '../records/tables.ts';
import type { Session } from '../session.ts';

/** Words that this process knows to be in the table. Their number is bounded; a word may be added again. */
const MOST_KNOWN = 200_000;
const MOST_NEAR = 20_000;

export interface NearWord {
  readonly word: string;
  readonly distance: number;
}

/** The words of each collection's records, among which those of similar spelling are found. */
export class Vocabulary {
  readonly #known = new Set<string>();

  /** Adds the words of written records in their transaction. Returns what to do once it is committed. */
  async add(session: Session, words: ReadonlyMap<CollectionName, ReadonlySet<string>>): Promise<() => void> {
    const fresh = [...words].flatMap(([collection, of]) =>
      [...of].filter((word) => !this.#known.has(`${collection} ${word}`)).map((word) => [collection, word] as const),
    );
    if (fresh.length > 0) {
      await session.query({
        name: 'add words',
        text: 'insert into text_words (collection, word) select * from unnest($1::text[], $2::text[])',
        values: [fresh.map(([collection]) => collection), fresh.map(([, word]) => word)],
      });
    }
    return () => {
      if (this.#known.size > MOST_KNOWN) this.#known.clear();
      for (const [collection, word] of fresh) this.#known.add(`${collection} ${word}`);
    };
  }

  /** Words at this distance at most. The first or the last part of a word must be right. */
  async near(session: Session, collection: CollectionName, word: string, most: number): Promise<NearWord[]> {
    const part = Math.floor(word.length / (most + 1));
    const found = await session.query<{ word: string }>({
      name: 'near words',
      text: `select distinct word from text_words
        where collection = $1 and (word ^@ $2 or reverse(word) collate "C" ^@ reverse($3)) and length(word) between $4 and $5
        limit ${MOST_NEAR}`,
      values: [collection, word.slice(0, part), word.slice(-part), word.length - most, word.length + most],
    });
    return found
      .map((near) => ({ word: near.word, distance: leven(word, near.word) }))
      .filter(({ distance }) => distance <= most);
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
