import type { CollectionName } from '../../collections.ts';
import type { Filter, Rank, TextPage } from '../../port.ts';
import { deepFreeze, type Row } from '../../row.ts';
import { isSpaceless, wordsIn } from '../../search-text.ts';
import { type AnyFilter, allOf, conditions, isStorable, type Reading, unexpired, Values } from '../records/query.ts';
import { ownerOf, type Table, tableNamed } from '../records/tables.ts';
import { rankOf } from './rank.ts';
import type { Vocabulary } from './vocabulary.ts';
import { COUNTED, type WeighedWord, weigh } from './weigh.ts';
import { titleWord } from './words.ts';

export interface AnyTextQuery extends AnyFilter {
  readonly text: string;
  readonly owner?: Filter<object> | undefined;
  readonly limit: number;
  readonly after?: Rank | undefined;
}

interface FoundRow {
  readonly place: number;
  readonly count: number;
  readonly score: number | null;
  readonly record: Row;
  readonly owner: Row | null;
}

/** Only this many distinct words of a query count. */
const MOST_WORDS = 32;

export interface TextQuestion {
  readonly name: CollectionName;
  readonly query: AnyTextQuery;
}

/** For each question one page of the best records that the filters admit. All have the same text. */
export async function search(
  questions: readonly TextQuestion[],
  reading: Reading,
  vocabulary: Vocabulary,
): Promise<TextPage<Row>[]> {
  const tables = questions.map(({ name }) => searched(name));
  const [
    {
      query: { text: wholeText },
    } = { query: { text: '' } },
  ] = questions;
  const texts = [...new Set(Array.from(wordsIn(wholeText), ({ term }) => term))].slice(0, MOST_WORDS);
  const wanted = texts.map((term, at) => ({
    term,
    isBeginning: term.length >= (at === texts.length - 1 ? 2 : 3) || isSpaceless(term),
  }));
  const weighed = await weigh(tables, wanted, reading.session, vocabulary);
  const values = new Values();
  const parts = tables.flatMap((table, place) => {
    const [words, question] = [weighed[place], questions[place]];
    if (!words || !question) return [];
    return `select ${place} as place, * from (${statement(table, question.query, words, reading.now(), values)}) as part`;
  });
  const text = `${parts.join(' union all ')} order by place, score desc, id desc`;
  const found = await reading.session.query<FoundRow>({ text, values: values.all });
  return questions.map(({ query }, at) =>
    pageOf(
      found.filter(({ place }) => place === at),
      query.limit,
    ),
  );
}

function searched(name: CollectionName): Table {
  const table = tableNamed(name);
  if (!table.definition.search) throw new Error(`${name} declares no text to search`);
  return table;
}

function pageOf(found: readonly FoundRow[], limit: number): TextPage<Row> {
  const hits = found.flatMap(({ score, record, owner }) =>
    score === null ? [] : [{ record: deepFreeze(record), score, ...(owner && { owner: deepFreeze(owner) }) }],
  );
  const last = hits[limit - 1];
  const next = hits.length > limit && last ? { score: last.score, id: last.record.id } : null;
  return { hits: hits.slice(0, limit), next, count: found[0]?.count ?? 0 };
}

/** The statement has one row for each hit, or one without a hit for the count alone. */
function statement(table: Table, query: AnyTextQuery, words: Weighed, now: Date, values: Values): string {
  const owner = ownerOf(table);
  const { limit } = query;
  const exactIn = exactly(query.text, values);
  const exact = exactIn('t.words');
  const { score, enough, whole, newest } = rankOf(words, values);
  const filters = [
    `(${exactIn('w.words')} or ${enough})`,
    ...conditions(table, query, values, 't.'),
    ...unexpired(table, now, values, 't.'),
    ...(owner ? conditions(owner.table, (query.owner ?? {}) as AnyFilter, values, 'o.') : []), // it names members of the owner
    ...(owner ? unexpired(owner.table, now, values, 'o.') : []),
  ];
  const join = owner ? `join ${owner.table.sql} o on o.id = t.${owner.column}` : '';
  const scored = `select t.id, case when ${exactIn('w.words')} then 1 else ${score} end as score
    from ${table.sql} t ${UNPACKED} ${join}`;
  const ranked = [
    `${scored} where ${allOf([whole ? `(${exact} or ${whole})` : exact, ...filters])}`,
    ...newest.map(
      (has) => `(${scored} where ${allOf([has, ...filters])} order by t.created_at desc, t.id desc limit ${COUNTED})`,
    ),
  ].join(' union ');
  const beyond = query.after ? `where ${isAfter(query.after, values)}` : '';
  return `with ranked as materialized (
      ${ranked}
    ), page as (select * from ranked ${beyond} order by score desc, id desc limit ${values.add(limit + 1)})
    select (select count(*)::integer from ranked) as count, p.score, p.id, t.record, ${owner ? 'o.record' : 'null::json'} as owner
    from (select) as one left join page p on true left join ${table.sql} t on t.id = p.id
    ${owner ? `left join ${owner.table.sql} o on o.id = t.${owner.column}` : ''}`;
}

/** A place can be just after an id: with a NUL behind it, which no record's id has and PostgreSQL does not take. */
function isAfter({ score, id }: Rank, values: Values): string {
  const [upTo = '', more] = id.split('\0');
  return `(score, id) ${more === undefined ? '<' : '<='} (${values.add(score)}::float8, ${values.add(upTo)})`;
}

type Weighed = readonly WeighedWord[];

/** The words of `t` as `w`. Each use of stored words unpacks them again; of this copy none does, which changes no weight. */
const UNPACKED = `cross join lateral (select setweight(t.words, 'A', '{}') as words offset 0) w`;

/** Whether the record has this id or title, by the column of its words. */
function exactly(text: string, values: Values): (words: string) => string {
  const id = text.trim();
  const title = values.add(titleWord(text));
  const isThis = isStorable(id) ? `t.id = ${values.add(id)} or ` : '';
  return (words) => `(${isThis}${words} @@ ${title}::tsquery)`;
}
