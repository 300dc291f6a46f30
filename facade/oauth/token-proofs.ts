import type { Store } from '../../store/port.ts';
import { findToken, tokenPrincipal } from '../../tools/core/access/capsule-principal.ts';
import { hashSecret, prefixOf } from '../../tools/core/access/key-secret.ts';
import { createRateLimit, type RateLimit } from '../../tools/core/access/rate-limit.ts';
import type { Catalog } from '../../tools/core/registry/catalog-index.ts';
import { networkOf } from '../../tools/sign-in/attempts.ts';
import { createTtlCache, type TtlCache } from './ttl-cache.ts';

export const TRIES_A_MINUTE = 5;
const KEPT_MS = 10 * 60 * 1000;

interface Proof {
  readonly browserHash: string;
  readonly capsuleId: string;
  readonly tokenPrefix: string;
}

interface TokenProofDeps {
  readonly store: Pick<Store, 'adminUsers' | 'capsules' | 'cluster'>;
  readonly catalog: Catalog;
  now(): Date;
}

/** Remembers, for 10 minutes, that a browser has shown a capsule's token. The next page then needs no token in it. */
export class TokenProofs {
  readonly #around: TokenProofDeps;
  readonly #limit: RateLimit;
  readonly #proofs: TtlCache<Proof>;

  constructor(around: TokenProofDeps) {
    const { cluster } = around.store;
    this.#around = around;
    this.#limit = createRateLimit(TRIES_A_MINUTE, 'capsule tokens from one address', { cluster });
    this.#proofs = createTtlCache('token proof', { cluster, periodMs: KEPT_MS, now: around.now });
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
    const holder = found && (await tokenPrincipal(store, found, { catalog, now: now() }));
    const isGood = found?.capsule.id === capsuleId && holder !== undefined;
    const tokenPrefix = prefixOf('capsule', token.trim());
    if (!isGood || tokenPrefix === undefined) return false;
    await this.#proofs.put(by.interactionId, { browserHash: hashSecret(by.browser), capsuleId, tokenPrefix });
    return true;
  }

  /** The proof that this browser gave for the capsule and the request of the app. */
  async find(interactionId: string, capsuleId: string, browser: string): Promise<Proof | undefined> {
    const proof = await this.#proofs.get(interactionId);
    return proof?.capsuleId === capsuleId && proof.browserHash === hashSecret(browser) ? proof : undefined;
  }

  async forget(interactionId: string): Promise<void> {
    await this.#proofs.take(interactionId);
  }
}
