import type { CapsuleRecord } from '../../resources/capsule.ts';
import { APP_SCOPES, type AppScope } from '../../resources/connected-app.ts';
import type { Readers } from '../../store/port.ts';
import { type AppConnection, appPrincipal, mayUseCapsule } from '../../tools/core/access/app-principal.ts';
import type { Principal } from '../../tools/core/access/principal.ts';
import type { Registry } from '../../tools/core/registry/registry.ts';
import type { Tool } from '../../tools/core/registry/tool.ts';

/** Capsules among which a person chooses. */
const MOST_CAPSULES = 100;
const MOST_NAMED = 10;

export interface Offer {
  readonly tools: readonly Tool[];
  readonly count: number;
  /** Those that can do most, first. */
  readonly powerful: readonly Tool[];
}

export interface ScopeOffer extends Offer {
  readonly scope: AppScope;
}

interface Handed {
  readonly scopes?: readonly AppScope[];
  readonly capsuleId?: string;
}

export interface CapsuleOffer extends Offer {
  readonly id: string;
  readonly name: string;
}

type Asking = Pick<AppConnection, 'client' | 'resource'> & { readonly scopes?: readonly string[] };

export class Offers {
  readonly #store: Readers;
  readonly #registry: Registry;

  constructor(store: Readers, registry: Registry) {
    this.#store = store;
    this.#registry = registry;
  }

  /** The scopes, up to what was asked, that give more than those before: who may only read is not asked about writing. */
  async scopes({ client, resource, scopes: asked = [] }: Asking, person: Principal): Promise<ScopeOffer[]> {
    const offers: ScopeOffer[] = [];
    const most = APP_SCOPES.findLastIndex((scope) => asked.includes(scope));
    for (const [index, scope] of APP_SCOPES.slice(0, most + 1).entries()) {
      const scopes = APP_SCOPES.slice(0, index + 1);
      const offer = await this.#offer({ client, resource, id: '', scopes, userId: person.ownerId });
      if (typeof offer !== 'string' && offer.count > (offers.at(-1)?.count ?? 0)) offers.push({ scope, ...offer });
    }
    return offers;
  }

  /** Whether it is among what the person is offered at the unified endpoint. */
  async holds(asking: Asking, person: Principal, { scopes, capsuleId }: Handed): Promise<boolean> {
    if (capsuleId !== undefined) return (await this.capsules(asking, person)).some(({ id }) => id === capsuleId);
    return (await this.scopes(asking, person)).some(({ scope }) => scope === scopes?.at(-1));
  }

  /** The live capsules that the person may use and that do no more than was asked. */
  async capsules(asking: Asking, person: Principal): Promise<CapsuleOffer[]> {
    const { records } = await this.#store.capsules.find({ where: { status: 'live' }, limit: MOST_CAPSULES });
    const usable = records.filter((capsule) => mayUseCapsule(person, capsule));
    const by = { userId: person.ownerId };
    const offers = await Promise.all(usable.map((capsule) => this.capsule(asking, capsule, by)));
    const widest = (await this.scopes(asking, person)).at(-1);
    const within = ({ tools }: Offer) => tools.every((tool) => widest?.tools.includes(tool));
    return offers.filter((offer) => typeof offer !== 'string').filter(within);
  }

  /** One capsule, for a person who may use it or for the holder of its token: what it gives, or why it serves nobody now. */
  async capsule(
    { client, resource }: Asking,
    { id, name }: Pick<CapsuleRecord, 'id' | 'name'>,
    by: { readonly userId: string } | { readonly tokenPrefix: string },
  ): Promise<CapsuleOffer | string> {
    const offer = await this.#offer({ client, resource, id: '', scopes: [], capsuleId: id, ...by });
    return typeof offer === 'string' ? offer : { id, name, ...offer };
  }

  async #offer(connection: AppConnection): Promise<Offer | string> {
    const { catalog, now } = this.#registry.server;
    const principal = await appPrincipal(this.#store, connection, { catalog, now: now() });
    if (typeof principal === 'string') return principal;
    const tools = this.#registry.list(principal).map(({ tool }) => tool);
    const ranked = [...tools].sort((one, other) => power(other) - power(one));
    return { tools, count: tools.length, powerful: ranked.slice(0, MOST_NAMED) };
  }
}

/** Orders tools by how much harm they can do. */
function power({ access, annotations }: Tool): number {
  const { readOnlyHint, destructiveHint, openWorldHint } = annotations;
  const isAdmin = 'among' in access ? access.among.some(({ scope }) => scope === 'admin') : access.scope === 'admin';
  return (readOnlyHint ? 0 : 8) + (destructiveHint ? 4 : 0) + (isAdmin ? 2 : 0) + (openWorldHint ? 1 : 0);
}
