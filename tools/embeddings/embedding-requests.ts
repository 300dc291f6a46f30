import { EmbeddingFailure, type EmbeddingModel } from '../core/models/embedding-model.ts';
import { noVector, type Part, vectorOf } from './vectors.ts';

/** Texts of one request to the provider. */
export const MOST_TEXTS = 64;

interface RequestOptions {
  /** Of one request. */
  signal(): AbortSignal;
  /** How many numbers the vectors have, where that is known. */
  readonly width: number | undefined;
}

/** Asks for the vectors of many texts, fewer at once where the provider refuses so many. */
export class EmbeddingRequests {
  mostTexts = MOST_TEXTS;

  /** By hash. A text that the provider refuses by itself gets a vector that is near to nothing. @throws EmbeddingFailure */
  async embed(
    model: EmbeddingModel,
    texts: ReadonlyMap<string, string>,
    options: RequestOptions,
  ): Promise<Map<string, Part>> {
    const all = [...texts];
    if (all.length === 0) return new Map();
    try {
      const { vectors } = await model.embed([...texts.values()], options.signal());
      this.mostTexts = Math.min(MOST_TEXTS, this.mostTexts * 2);
      return new Map(all.map(([hash], at) => [hash, { hash, ...vectorOf(vectors[at] ?? []) }]));
    } catch (cause) {
      if (!(cause instanceof EmbeddingFailure) || !cause.isAboutTexts) throw cause;
      if (all.length === 1) return withoutVector(all, options.width, cause);
      this.mostTexts = Math.ceil(all.length / 2);
      const halves = [all.slice(0, this.mostTexts), all.slice(this.mostTexts)];
      const made = new Map<string, Part>();
      for (const half of halves)
        for (const [hash, part] of await this.embed(model, new Map(half), options)) made.set(hash, part);
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
