import type { Store } from '../../store/port.ts';
import { doorProblem } from '../../tools/access/capsule-principal.ts';
import type { Principal } from '../../tools/access/principal.ts';
import { CapsuleUse } from '../../tools/capsules/use.ts';
import { ToolError } from '../../tools/registry/errors.ts';
import type { Exchange } from '../http/exchange.ts';
import type { RefusedRequests } from '../http/refused-requests.ts';

export const CAPSULE_MCP_PATH = '/api/capsules/{id}/mcp';
const ENDPOINT = /^\/api\/capsules\/([^/]+)\/mcp$/;

export interface CapsuleDoorOptions {
  readonly store: Store;
  readonly refused: RefusedRequests;
  onFailure(cause: unknown): void;
  now(): Date;
}

/** Admits to a capsule's endpoint only that capsule's tokens, keeps these tokens from other endpoints, and counts the calls. */
export class CapsuleDoor {
  readonly use: CapsuleUse;
  readonly #store: Store;
  readonly #refused: RefusedRequests;
  readonly #now: () => Date;

  constructor({ store, refused, onFailure, now }: CapsuleDoorOptions) {
    this.#store = store;
    this.#refused = refused;
    this.#now = now;
    this.use = new CapsuleUse(store, onFailure);
  }

  /** @throws ToolError (forbidden) where the caller is authenticated but may not use this door */
  async requireAdmitted(exchange: Exchange): Promise<void> {
    const { principal, url } = exchange;
    const problem = await this.#problem(principal, url);
    if (problem !== undefined) {
      this.#refused.note(exchange, capsuleAt(url));
      throw new ToolError('forbidden', 'Insufficient permissions', { issues: [{ path: '', message: problem }] });
    }
    if (principal.type === 'capsule') this.use.note(principal.id, 0);
  }

  /** The principal, if it would still be admitted. */
  async stillAdmitted(principal: Principal | undefined, url: URL): Promise<Principal | undefined> {
    return principal && (await this.#problem(principal, url)) === undefined ? principal : undefined;
  }

  #problem(principal: Principal, url: URL): Promise<string | undefined> | undefined {
    const capsuleId = capsuleAt(url);
    // Nearly all requests end here, without a look-up.
    if (principal.type !== 'capsule' && capsuleId === undefined) return undefined;
    return doorProblem(this.#store, principal, { capsuleId, now: this.#now() });
  }
}

/** The id of the capsule that the endpoint belongs to. */
export function capsuleAt({ pathname }: URL): string | undefined {
  const id = ENDPOINT.exec(pathname)?.[1];
  try {
    return id && decodeURIComponent(id);
  } catch {
    return id;
  }
}
