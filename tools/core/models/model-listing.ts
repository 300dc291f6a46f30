import { z } from 'zod';
import type { Listing } from './provider-adapter.ts';
import type { Fetch } from './provider-fetch.ts';
import type { ModelProvider } from './providers.ts';

const ASK_MS = 3000;
/** How long a list is valid, and how long a failure is. */
const FRESH_MS = 5 * 60_000;
const FAILED_MS = 30_000;
/** A list of this length may be incomplete. */
export const MOST_MODELS = 100;
const LONGEST_NAME = 190;

const listed = z.union([
  z.object({ data: z.array(z.object({ id: z.string().min(1) })) }).transform(({ data }) => data.map(({ id }) => id)),
  // of Google
  z
    .object({ models: z.array(z.object({ name: z.string().min(1) })) })
    .transform(({ models }) => models.map(({ name }) => name.replace(/^models\//, ''))),
]);

export interface Listed {
  readonly names: readonly string[];
  /** False if the provider could not be reached or refused the key. A provider that answers without a list is up. */
  readonly up: boolean;
  readonly latencyMs: number;
  /** What is wrong, in words that are safe to show. */
  readonly problem?: string;
}

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

  /** What a test found holds until the provider is asked for its list again. */
  noteTest(found: Omit<Listed, 'names'>): void {
    this.#last = { names: this.#last?.names ?? [], ...found };
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
    const { listing, talks, fetch } = this.#provider;
    if (!listing) return { names: [], up: true };
    try {
      const answer = await askForList(fetch, listing);
      const { status } = answer;
      if (status === 401 || status === 403) return down(`it refused the key (${status})`);
      if (status >= 500) return down(`it answered ${status}`);
      const names = namesIn(await answer.json()).filter((id) => id.length <= LONGEST_NAME && talks(id));
      return { names: names.slice(0, MOST_MODELS), up: true };
    } catch (error) {
      // A server without a list of models may answer with something other than JSON.
      return error instanceof SyntaxError ? { names: [], up: true } : down('it could not be reached');
    }
  }
}

/** Asked once: whoever waits for a list waits for 3 s at most. */
export function askForList(fetch: Fetch, { url, headers }: Listing, ms = ASK_MS): Promise<Response> {
  return fetch(url, { headers, signal: AbortSignal.timeout(ms) });
}

export function namesIn(body: unknown): readonly string[] {
  return listed.safeParse(body).data ?? [];
}

function down(problem: string): Omit<Listed, 'latencyMs'> {
  return { names: [], up: false, problem };
}
