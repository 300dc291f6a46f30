import type { Readers } from '../../store/port.ts';
import { findToken, tokenHolder } from '../../tools/access/capsule-principal.ts';
import { hashSecret, prefixOf } from '../../tools/access/key-secret.ts';
import { createRateLimit } from '../../tools/access/rate-limit.ts';
import type { Catalog } from '../../tools/registry/catalog-index.ts';
import { networkOf } from '../../tools/sign-in/attempts.ts';

const TRIES_A_MINUTE = 5;
const KEPT_MS = 10 * 60 * 1000;
const MOST_KEPT = 1000;

interface Proof {
  readonly interactionId: string;
  readonly browserHash: string;
  readonly capsuleId: string;
  readonly tokenPrefix: string;
  readonly until: number;
}

interface Around {
  readonly store: Pick<Readers, 'adminUsers' | 'capsules'>;
  readonly catalog: Catalog;
  now(): Date;
}

/** Remembers in memory, for 10 minutes, that a browser has shown a capsule's token. The next page then needs no token in it. */
export class TokenProofs {
  readonly #around: Around;
  readonly #limit = createRateLimit(TRIES_A_MINUTE, 'capsule tokens from one address');
  readonly #proofs = new Map<string, Proof>();

  constructor(around: Around) {
    this.#around = around;
  }

  /** Whether the token is the capsule's. @throws ToolError (rate_limited) */
  async show(
    token: string,
    capsuleId: string,
    by: { readonly interactionId: string; readonly browser: string; readonly address: string },
  ): Promise<boolean> {
    await this.#limit(networkOf(by.address));
    const { store, catalog, now } = this.#around;
    const found = await findToken(store, token.trim());
    const holder = found && (await tokenHolder(store, found, { catalog, now: now() }));
    const isGood = found?.capsule.id === capsuleId && holder !== undefined;
    const tokenPrefix = prefixOf('capsule', token.trim());
    if (!isGood || tokenPrefix === undefined) return false;
    if (this.#proofs.size >= MOST_KEPT) this.#proofs.clear();
    const { interactionId, browser } = by;
    const until = now().getTime() + KEPT_MS;
    this.#proofs.set(interactionId, { interactionId, browserHash: hashSecret(browser), capsuleId, tokenPrefix, until });
    return true;
  }

  /** The proof that this browser gave for the capsule and the request of the app. */
  find(interactionId: string, capsuleId: string, browser: string): Pick<Proof, 'tokenPrefix'> | undefined {
    const proof = this.#proofs.get(interactionId);
    if (proof?.capsuleId !== capsuleId || proof.browserHash !== hashSecret(browser)) return undefined;
    return proof.until > this.#around.now().getTime() ? proof : undefined;
  }

  forget(interactionId: string): void {
    this.#proofs.delete(interactionId);
  }
}
