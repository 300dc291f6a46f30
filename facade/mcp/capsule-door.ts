import type { Store } from '../../store/port.ts';
import { doorProblem } from '../../tools/access/capsule-principal.ts';
import type { Principal } from '../../tools/access/principal.ts';
import { CapsuleUse } from '../../tools/capsules/use.ts';
import { ToolError } from '../../tools/registry/errors.ts';
import type { Exchange } from '../http/exchange.ts';
import type { RefusedRequests } from '../http/refused-requests.ts';

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
    const { principal, capsuleId } = exchange;
    const problem = await this.#problem(principal, capsuleId);
    if (problem !== undefined) {
      this.#refused.note(exchange, capsuleId);
      throw new ToolError('forbidden', 'Insufficient permissions', { issues: [{ path: '', message: problem }] });
    }
    if (principal.type === 'capsule') this.use.note(principal.id, 0);
  }

  /** The principal, if it would still be admitted. */
  async stillAdmitted(principal: Principal | undefined, capsuleId: string | undefined): Promise<Principal | undefined> {
    return principal && (await this.#problem(principal, capsuleId)) === undefined ? principal : undefined;
  }

  #problem(principal: Principal, capsuleId: string | undefined): Promise<string | undefined> {
    return doorProblem(this.#store, principal, { capsuleId, now: this.#now() });
  }
}
