import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Door } from '../../resources/audit-entry.ts';
import type { Principal } from '../../tools/access/principal.ts';
import type { Standing } from '../../tools/access/standing.ts';
import { ToolError } from '../../tools/registry/errors.ts';
import type { CapsuleDoor } from '../mcp/capsule-door.ts';
import type { Authenticator } from './authenticate.ts';
import type { Exchange } from './exchange.ts';

interface Doors {
  readonly authenticator: Authenticator;
  readonly capsules: CapsuleDoor;
}

/** A request below `/api` from a caller who was admitted. */
export class HttpExchange implements Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  readonly principal: Principal;
  readonly url: URL;
  readonly #doors: Doors;

  constructor(parts: Pick<Exchange, 'request' | 'response' | 'requestId' | 'principal'>, doors: Doors) {
    this.request = parts.request;
    this.response = parts.response;
    this.requestId = parts.requestId;
    this.principal = parts.principal;
    this.url = parseUrl(parts.request);
    this.#doors = doors;
  }

  /** The stdio door and the dashboard reach the server over MCP and say who they are; it is a label and gives no rights. */
  get door(): Door {
    if (this.principal.type === 'capsule') return 'capsule';
    const said = this.request.headers['x-agent-admin-door'];
    if (said === 'dashboard' && this.principal.type === 'session') return 'dashboard';
    return said === 'stdio' ? 'stdio' : 'mcp';
  }

  async renewed(): Promise<Standing> {
    const { authenticator, capsules } = this.#doors;
    const found = await capsules.stillAdmitted(await authenticator.renew(this.request), this.url);
    return found ?? authenticator.problem(this.principal);
  }

  beforeCall(): Promise<void> | undefined {
    return this.principal.type === 'capsule' ? this.#doors.capsules.use.beforeCall(this.principal.id) : undefined;
  }
}

/** URLs of targets that came before; nothing changes a URL of an exchange. */
const known = new Map<string, URL>();
const MOST_KNOWN = 1000;
const LONGEST_KNOWN = 200;

function parseUrl(request: IncomingMessage & { originalUrl?: string }): URL {
  const target = request.originalUrl ?? request.url ?? '';
  const found = known.get(target);
  if (found) return found;
  const url = parseTarget(target);
  if (known.size >= MOST_KNOWN) known.clear();
  if (target.length <= LONGEST_KNOWN) known.set(target, url);
  return url;
}

function parseTarget(target: string): URL {
  try {
    const url = new URL(target.startsWith('/') ? `http://localhost${target}` : target);
    // Otherwise `/agents/../health` would be served as the path it resolves to.
    if (pathIn(target) === url.pathname) return url;
  } catch {
    // refused below
  }
  throw new ToolError('not_found', 'The path is malformed.');
}

/** The path as it was sent, also where proxies send whole addresses. */
function pathIn(target: string): string {
  const [address = ''] = target.split(/[?#]/, 1);
  return address.startsWith('/') ? address : address.slice(address.indexOf('/', address.indexOf('//') + 2));
}
