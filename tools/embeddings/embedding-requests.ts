import { setImmediate } from 'node:timers/promises';
import { EmbeddingFailure, type EmbeddingModel } from '../core/models/embedding-model.ts';
import { noVector, type Part, vectorOf } from './vectors.ts';

/** Texts of one request to the provider. */
export const MOST_TEXTS = 64;
/** Numbers of one answer: more would take longer to parse than others may wait. */
const MOST_NUMBERS = 32_768;

/** Asks for the vectors of many texts, fewer at once where the provider refuses so many. */
export class EmbeddingRequests {
  readonly #width: () => number | undefined;
  #most = MOST_TEXTS;

  /** @param width How many numbers the vectors have, where that is known. */
  constructor(width: () => number | undefined) {
    this.#width = width;
  }

  /** Texts of one request. */
  get mostTexts(): number {
    return Math.max(1, Math.min(this.#most, Math.floor(MOST_NUMBERS / (this.#width() ?? 1))));
  }

  /** By hash. A text that the provider refuses by itself gets a vector that is near to nothing. `signal` is made for each request. @throws EmbeddingFailure */
  async embed(
    model: EmbeddingModel,
    texts: ReadonlyMap<string, string>,
    signal: () => AbortSignal,
  ): Promise<Map<string, Part>> {
    const all = [...texts];
    if (all.length === 0) return new Map();
    try {
      const { vectors } = await model.embed([...texts.values()], signal());
      this.#most = Math.min(MOST_TEXTS, this.#most * 2);
      await setImmediate(); // it was parsed in this turn
      return new Map(all.map(([hash], at) => [hash, { hash, ...vectorOf(vectors[at] ?? []) }]));
    } catch (cause) {
      if (!(cause instanceof EmbeddingFailure) || !cause.isAboutTexts) throw cause;
      if (all.length === 1) return withoutVector(all, this.#width(), cause);
      this.#most = Math.ceil(all.length / 2);
      const halves = [all.slice(0, this.#most), all.slice(this.#most)];
      const made = new Map<string, Part>();
      for (const half of halves)
        for (const [hash, part] of await this.embed(model, new Map(half), signal)) made.set(hash, part);
      return made;
    }
  }
}

function withoutVector(
  texts: readonly (readonly [string, string])[],
  width: number | undefined,
  cause: unknown,
): Map<string, Part> {
  if (width === undefined) throw cause;
  return new Map(texts.map(([hash]) => [hash, { hash, ...noVector(width) }]));
}
