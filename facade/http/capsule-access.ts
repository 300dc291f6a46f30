import type { Readers, Store } from '../../store/port.ts';
import { CapsuleUse } from '../../tools/capsules/use.ts';
import { type DoorProblem, doorProblem } from '../../tools/core/access/capsule-principal.ts';
import { prefixOf } from '../../tools/core/access/key-secret.ts';
import { capsuleIn, type Principal } from '../../tools/core/access/principal.ts';
import { ToolError } from '../../tools/core/errors.ts';
import { BEARER } from './authenticate.ts';
import type { RefusedRequests } from './refused-requests.ts';
import type { RequestContext } from './request-context.ts';

interface CapsuleAccessOptions {
  readonly store: Store;
  readonly refused: RefusedRequests;
  onFailure(cause: unknown): void;
  now(): Date;
}

/** Admits only a capsule's tokens and apps to its endpoint, keeps both from other endpoints, and counts the calls. */
export class CapsuleAccess {
  readonly use: CapsuleUse;
  readonly #store: Readers;
  readonly #refused: RefusedRequests;
  readonly #now: () => Date;

  constructor({ store, refused, onFailure, now }: CapsuleAccessOptions) {
    this.#store = store.credentials ?? store;
    this.#refused = refused;
    this.#now = now;
    this.use = new CapsuleUse(store, onFailure);
  }

  /** @throws ToolError (forbidden) where the caller is authenticated but may not use this endpoint */
  async requireAdmitted(context: RequestContext): Promise<void> {
    const { principal, capsuleId } = context;
    const problem = await this.#problem(principal, capsuleId);
    if (problem) {
      this.#refused.note(context, capsuleId);
      const { message, required } = problem;
      const detail = { ...(required && { required }), issues: [{ path: '', message }] };
      throw new ToolError('forbidden', 'Insufficient permissions', detail);
    }
    const capsule = capsuleIn(principal);
    if (capsule) this.use.note(capsule.id, 0, tokenPrefixIn(context));
  }

  async stillAdmitted(principal: Principal | undefined, capsuleId: string | undefined): Promise<Principal | undefined> {
    return principal && (await this.#problem(principal, capsuleId)) === undefined ? principal : undefined;
  }

  async #problem(principal: Principal, capsuleId: string | undefined): Promise<DoorProblem | undefined> {
    if (principal.type === 'app') {
      if (isConnectedTo(principal, capsuleId)) return undefined;
      const endpoint = MCP_ADDRESS.exec(principal.resource ?? '')?.[0];
      return { message: OTHER_ADDRESS, ...(endpoint !== undefined && { required: { endpoint } }) };
    }
    return doorProblem(this.#store, principal, { capsuleId, now: this.#now() });
  }
}

/** Undefined where the caller is an app, which shows a token of its own. */
function tokenPrefixIn({ principal, request }: RequestContext): string | undefined {
  if (principal.type !== 'capsule') return undefined;
  return prefixOf('capsule', BEARER.exec(request.headers.authorization ?? '')?.[1] ?? '');
}

const MCP_ADDRESS = /\/api\/(?:v1|capsules\/[^/]+)\/mcp$/;
const CAPSULE_ADDRESS = /\/api\/capsules\/([^/]+)\/mcp$/;
const OTHER_ADDRESS = 'A connected app reaches the address that it was connected to and no other.';

/** Whether the app was connected to this capsule's endpoint, or to none of a capsule. The reach of the app is decided elsewhere. */
function isConnectedTo({ resource = '' }: Principal, capsuleId: string | undefined): boolean {
  return CAPSULE_ADDRESS.exec(resource)?.[1] === capsuleId;
}
