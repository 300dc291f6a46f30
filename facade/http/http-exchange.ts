import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Door } from '../../resources/audit-entry.ts';
import { capsuleIn, type Principal } from '../../tools/core/access/principal.ts';
import type { Standing } from '../../tools/core/access/standing.ts';
import type { CapsuleDoor } from '../mcp/capsule-door.ts';
import type { Authenticator } from './authenticate.ts';
import { stepUpChallenge } from './challenge.ts';
import type { Exchange } from './exchange.ts';

interface Doors {
  readonly authenticator: Authenticator;
  readonly capsules: CapsuleDoor;
  onStepUp?(app: string): Promise<void> | undefined;
}

/** A request below `/api` from a caller who was admitted. */
export class HttpExchange implements Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  readonly principal: Principal;
  readonly url: URL;
  readonly capsuleId: string | undefined;
  failure: string | undefined;
  readonly #doors: Doors;

  constructor(parts: Omit<Exchange, 'door' | 'renewed' | 'beforeCall' | 'askFor'>, doors: Doors) {
    this.request = parts.request;
    this.response = parts.response;
    this.requestId = parts.requestId;
    this.principal = parts.principal;
    this.url = parts.url;
    this.capsuleId = parts.capsuleId;
    this.#doors = doors;
  }

  /** The stdio door and the dashboard reach the server over MCP and say who they are; it is a label and gives no rights. */
  get door(): Door {
    if (this.principal.type === 'capsule' || this.capsuleId !== undefined) return 'capsule';
    const said = this.request.headers['x-agent-admin-door'];
    if (said === 'dashboard' && this.principal.type === 'session') return 'dashboard';
    return said === 'stdio' ? 'stdio' : 'mcp';
  }

  async renewed(): Promise<Standing> {
    const { authenticator, capsules } = this.#doors;
    const found = await capsules.stillAdmitted(await authenticator.renew(this.request), this.capsuleId);
    return found ?? authenticator.problem(this.principal);
  }

  beforeCall(): Promise<void> | undefined {
    const capsule = capsuleIn(this.principal);
    return capsule && this.#doors.capsules.use.beforeCall(capsule.id);
  }

  async askFor(scopes: readonly string[]): Promise<void> {
    const { resource, id } = this.principal;
    if (resource === undefined || this.response.headersSent) return;
    this.response.setHeader('WWW-Authenticate', stepUpChallenge(resource, scopes));
    await this.#doors.onStepUp?.(id);
  }
}
