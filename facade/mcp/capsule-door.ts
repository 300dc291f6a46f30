import type { Store } from '../../store/port.ts';
import type { Principal } from '../../tools/access/principal.ts';
import { doorProblem } from '../../tools/capsules/principal.ts';
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

/** Keeps the endpoints of capsules to the tokens of each, those tokens to their endpoint, and count of what is called there. */
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

  /** @throws ToolError (forbidden) where the caller is known but not let in by this door */
  async requireAdmitted(exchange: Exchange): Promise<void> {
    const { principal, url } = exchange;
    const problem = await this.#problem(principal, url);
    if (problem !== undefined) {
      this.#refused.note(exchange, capsuleAt(url));
      throw new ToolError('forbidden', 'Insufficient permissions', { issues: [{ path: '', message: problem }] });
    }
    if (principal.type === 'capsule') this.use.note(principal.id, 0);
  }

  /** The principal, where it would be let in now. */
  async stillAdmitted(principal: Principal | undefined, url: URL): Promise<Principal | undefined> {
    return principal && (await this.#problem(principal, url)) === undefined ? principal : undefined;
  }

  #problem(principal: Principal, url: URL): Promise<string | undefined> | undefined {
    const capsuleId = capsuleAt(url);
    // Nearly all requests: nothing is to be looked up.
    if (principal.type !== 'capsule' && capsuleId === undefined) return undefined;
    return doorProblem(this.#store, principal, { capsuleId, now: this.#now() });
  }
}

/** Id of the capsule whose endpoint it is. */
export function capsuleAt({ pathname }: URL): string | undefined {
  const id = ENDPOINT.exec(pathname)?.[1];
  try {
    return id && decodeURIComponent(id);
  } catch {
    return id;
  }
}
