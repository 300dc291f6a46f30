import type { CapsuleRecord } from '../../resources/capsule.ts';
import { APP_SCOPES, type AppScope } from '../../resources/connected-app.ts';
import type { Readers } from '../../store/port.ts';
import { appPrincipal, type Connection, mayUseCapsule } from '../../tools/access/app-principal.ts';
import type { Principal } from '../../tools/access/principal.ts';
import type { Registry } from '../../tools/registry/registry.ts';
import type { Tool } from '../../tools/registry/tool.ts';

/** Capsules among which a person chooses. */
const MOST_CAPSULES = 100;
const MOST_NAMED = 10;

/** What an app would have if it were let in. */
export interface Offer {
  /** How many tools. */
  readonly count: number;
  /** Those that can do most, first. */
  readonly powerful: readonly Tool[];
}

export interface ScopeOffer extends Offer {
  readonly scope: AppScope;
}

export interface CapsuleOffer extends Offer {
  readonly id: string;
  readonly name: string;
}

type Asking = Pick<Connection, 'client' | 'resource'>;

/** Works out what can be handed out, by asking what an app would reach. */
export class Offers {
  readonly #store: Readers;
  readonly #registry: Registry;

  constructor(store: Readers, registry: Registry) {
    this.#store = store;
    this.#registry = registry;
  }

  /** The scopes that give more than those before them: a person who may only read is not asked about writing. */
  async scopes(asking: Asking, person: Principal): Promise<ScopeOffer[]> {
    const offers: ScopeOffer[] = [];
    for (const [index, scope] of APP_SCOPES.entries()) {
      const scopes = APP_SCOPES.slice(0, index + 1);
      const offer = await this.#offer({ ...asking, id: '', scopes, userId: person.ownerId });
      if (typeof offer !== 'string' && offer.count > (offers.at(-1)?.count ?? 0)) offers.push({ scope, ...offer });
    }
    return offers;
  }

  /** The live capsules that the person may use. */
  async capsules(asking: Asking, person: Principal): Promise<CapsuleOffer[]> {
    const { records } = await this.#store.capsules.find({ where: { status: 'live' }, limit: MOST_CAPSULES });
    const usable = records.filter((capsule) => mayUseCapsule(person, capsule));
    const by = { userId: person.ownerId };
    const offers = await Promise.all(usable.map((capsule) => this.capsule(asking, capsule, by)));
    return offers.filter((offer) => typeof offer !== 'string');
  }

  /** One capsule, for a person who may use it or for the holder of its token: what it gives, or why it serves nobody now. */
  async capsule(
    asking: Asking,
    { id, name }: Pick<CapsuleRecord, 'id' | 'name'>,
    by: { readonly userId: string } | { readonly tokenPrefix: string },
  ): Promise<CapsuleOffer | string> {
    const offer = await this.#offer({ ...asking, id: '', scopes: [], capsuleId: id, ...by });
    return typeof offer === 'string' ? offer : { id, name, ...offer };
  }

  async #offer(connection: Connection): Promise<Offer | string> {
    const { catalog, now } = this.#registry.server;
    const principal = await appPrincipal(this.#store, connection, { catalog, now: now() });
    if (typeof principal === 'string') return principal;
    const tools = this.#registry.list(principal).map(({ tool }) => tool);
    const ranked = [...tools].sort((one, other) => power(other) - power(one));
    return { count: tools.length, powerful: ranked.slice(0, MOST_NAMED) };
  }
}

/** Orders tools by how much harm they can do. */
function power({ access, annotations }: Tool): number {
  const { readOnlyHint, destructiveHint, openWorldHint } = annotations;
  const isAdmin = 'among' in access ? access.among.some(({ scope }) => scope === 'admin') : access.scope === 'admin';
  return (readOnlyHint ? 0 : 8) + (destructiveHint ? 4 : 0) + (isAdmin ? 2 : 0) + (openWorldHint ? 1 : 0);
}
