import { z } from 'zod';
import type { ModelProvider } from './providers.ts';

const ASK_MS = 3000;
/** How long a list is valid, and how long a failure is. */
const FRESH_MS = 5 * 60_000;
const FAILED_MS = 30_000;
/** A list of this length may be incomplete. */
export const MOST_MODELS = 100;
const LONGEST_NAME = 190;

const listed = z.object({ data: z.array(z.object({ id: z.string().min(1) })) });

interface Listed {
  readonly names: readonly string[];
  /** False if the provider could not be reached or refused the key. A provider that answers without a list is up. */
  readonly up: boolean;
  readonly latencyMs: number;
  /** What is wrong, in words that are safe to show. */
  readonly problem?: string;
}

/** The list of models that a provider gives, asked again from time to time. */
export class ModelListing {
  readonly #provider: ModelProvider;
  #last: Listed | undefined;
  #asking: Promise<Listed> | undefined;
  #until = 0;

  constructor(provider: ModelProvider) {
    this.#provider = provider;
  }

  /** The last answer, without asking. */
  get last(): Listed | undefined {
    return this.#last;
  }

  async read(): Promise<Listed> {
    if (this.#last && performance.now() < this.#until) return this.#last;
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  async #ask(): Promise<Listed> {
    const started = performance.now();
    const found = await this.#fetch();
    this.#last = { ...found, latencyMs: Math.round(performance.now() - started) };
    this.#until = performance.now() + (found.up ? FRESH_MS : FAILED_MS);
    return this.#last;
  }

  async #fetch(): Promise<Omit<Listed, 'latencyMs'>> {
    const { listing, talks } = this.#provider;
    try {
      const { url, headers } = listing;
      const answer = await fetch(url, { headers, redirect: 'error', signal: AbortSignal.timeout(ASK_MS) });
      const { status } = answer;
      if (status === 401 || status === 403) return down(`it refused the key (${status})`);
      if (status >= 500) return down(`it answered ${status}`);
      const parsed = listed.safeParse(await answer.json());
      const ids = parsed.success ? parsed.data.data.map(({ id }) => id) : [];
      const names = ids.filter((id) => id.length <= LONGEST_NAME && talks(id)).slice(0, MOST_MODELS);
      return { names, up: true };
    } catch (error) {
      // A server without a list of models may answer with something other than JSON.
      return error instanceof SyntaxError ? { names: [], up: true } : down('it could not be reached');
    }
  }
}

function down(problem: string): Omit<Listed, 'latencyMs'> {
  return { names: [], up: false, problem };
}
