import type { TextPage } from '../../port.ts';
import type { Row } from '../../row.ts';
import type { Reading } from '../records/query.ts';
import { search, type TextQuestion } from './search.ts';
import type { Vocabulary } from './vocabulary.ts';

interface Waiting extends TextQuestion {
  answer(page: TextPage<Row> | undefined): void;
  fail(cause: unknown): void;
}

/** Puts searches for the same text that begin at the same time into the same few statements, as a search across collections is many. */
export class Searches {
  readonly #reading: Reading;
  readonly #vocabulary: Vocabulary;
  #waiting: Waiting[] = [];

  constructor(reading: Reading, vocabulary: Vocabulary) {
    this.#reading = reading;
    this.#vocabulary = vocabulary;
  }

  async page(question: TextQuestion): Promise<TextPage<Row>> {
    const found = await new Promise<TextPage<Row> | undefined>((answer, fail) => {
      if (this.#waiting.push({ ...question, answer, fail }) === 1) setImmediate(() => this.#ask());
    });
    return found ?? { hits: [], next: null, count: 0 };
  }

  #ask(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const text of new Set(waiting.map(({ query }) => query.text))) {
      const questions = waiting.filter(({ query }) => query.text === text);
      search(questions, this.#reading, this.#vocabulary).then(
        (pages) => questions.forEach(({ answer }, at) => void answer(pages[at])),
        (cause) => questions.forEach(({ fail }) => void fail(cause)),
      );
    }
  }
}
