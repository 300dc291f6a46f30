import { hash } from 'node:crypto';
import type { OAuthStateRecord } from '../../resources/oauth-state.ts';
import type { Readers, Store, Transaction } from '../../store/port.ts';
import { OAuthError } from './answers.ts';

type Payload = Readonly<Record<string, unknown>>;

/**
 * Hosts refresh from several places at once and repeat lost requests, so a refresh token works again for a while. A code works once, but
 * only a later replay ends the connection.
 */
const GRACE_MS: Readonly<Record<string, number>> = { RefreshToken: 10_000, AuthorizationCode: 2000 };

export interface StateOptions {
  readonly store: Store;
  now(): Date;
}

/** Keeps one kind of the library's records. The library names each by the text that clients show; only its hash is stored. */
export class States {
  readonly #kind: string;
  readonly #store: Store;
  readonly #now: () => Date;

  constructor(kind: string, { store, now }: StateOptions) {
    this.#kind = kind;
    this.#store = store;
    this.#now = now;
  }

  async upsert(id: string, payload: Payload, expiresInSeconds: number): Promise<void> {
    const key = keyOf(this.#kind, id);
    const expiresAt = new Date(this.#now().getTime() + expiresInSeconds * 1000).toISOString();
    const grantId = this.#kind === 'Grant' ? id : payload.grantId;
    const state = {
      payload: withoutId(payload, id),
      expiresAt,
      ...(typeof grantId === 'string' && { grantId }),
    };
    await this.#store.transaction(async (tx) => {
      const known = await find(tx, key);
      if (known) await tx.oauthStates.update(known.id, state);
      else await tx.oauthStates.insert({ kind: this.#kind, key, ...state });
    });
  }

  async find(id: string): Promise<Payload | undefined> {
    const state = await find(this.#store, keyOf(this.#kind, id));
    if (!state) return undefined;
    const isConsumed = state.consumedAt !== undefined && !this.#isInGrace(state);
    // The library changes what it is given; stored records never change.
    return { ...withId(structuredClone(state.payload), id), ...(isConsumed && { consumed: true }) };
  }

  /** Two requests that redeem the same text at the same time do not both get past here. @throws OAuthError (invalid_grant) */
  async consume(id: string): Promise<void> {
    await this.#store.transaction(async (tx) => {
      const state = await find(tx, keyOf(this.#kind, id));
      const worksAgain = state?.kind === 'RefreshToken' && this.#isInGrace(state);
      if (!state || (state.consumedAt !== undefined && !worksAgain)) {
        throw new OAuthError('invalid_grant', 'It was used or ended meanwhile.');
      }
      if (state.consumedAt === undefined) {
        await tx.oauthStates.touch(state.id, { consumedAt: this.#now().toISOString() });
      }
    });
  }

  /** A grant ends with its connection. */
  async destroy(id: string): Promise<void> {
    await this.#store.transaction(async (tx) => {
      const state = await find(tx, keyOf(this.#kind, id));
      if (state) await tx.oauthStates.delete(state.id);
      if (this.#kind === 'Grant' && (await tx.connectedApps.get(id))) await tx.connectedApps.delete(id);
    });
  }

  async revokeByGrantId(grantId: string): Promise<void> {
    await this.#store.transaction((tx) => deleteStates(tx, { grantId, kind: this.#kind }));
  }

  /** The library looks for device codes and for sessions in this way. There are none. */
  async findByUserCode(): Promise<undefined> {}
  async findByUid(): Promise<undefined> {}

  #isInGrace({ kind, consumedAt = '' }: OAuthStateRecord): boolean {
    return this.#now().getTime() - Date.parse(consumedAt) < (GRACE_MS[kind] ?? 0);
  }
}

/** The browser is remembered by our own sessions, so the library's last for one request. */
export class NoStates {
  async upsert(): Promise<void> {}
  async find(): Promise<undefined> {}
  async findByUid(): Promise<undefined> {}
  async findByUserCode(): Promise<undefined> {}
  async consume(): Promise<void> {}
  async destroy(): Promise<void> {}
  async revokeByGrantId(): Promise<void> {}
}

export function findState(
  store: Pick<Readers, 'oauthStates'>,
  kind: string,
  id: string,
): Promise<OAuthStateRecord | undefined> {
  return find(store, keyOf(kind, id));
}

export async function deleteStates(
  { oauthStates }: Pick<Transaction, 'oauthStates'>,
  where: { readonly grantId: string; readonly kind?: string },
): Promise<void> {
  for (;;) {
    const { records } = await oauthStates.find({ where, limit: 100 });
    for (const { id } of records) await oauthStates.delete(id);
    if (records.length === 0) return;
  }
}

async function find({ oauthStates }: Pick<Readers, 'oauthStates'>, key: string): Promise<OAuthStateRecord | undefined> {
  return await oauthStates.first({ where: { key } });
}

function keyOf(kind: string, id: string): string {
  return hash('sha256', `${kind} ${id}`, 'hex');
}

/** Stands for the text in an address that contains it. */
const PLACE = '{id}';

function withoutId({ jti: _, returnTo, ...rest }: Payload, id: string): Record<string, unknown> {
  return typeof returnTo === 'string' ? { ...rest, returnTo: returnTo.replace(id, PLACE) } : rest;
}

function withId({ returnTo, ...rest }: Payload, id: string): Payload {
  return { ...rest, jti: id, ...(typeof returnTo === 'string' && { returnTo: returnTo.replace(PLACE, id) }) };
}
