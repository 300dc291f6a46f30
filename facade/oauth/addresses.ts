import type { IncomingMessage } from 'node:http';
import { isOtherName } from '../http/guards.ts';
import { MCP_PATH } from '../mcp/endpoints.ts';

export const paths = {
  authorize: '/oauth/authorize',
  token: '/oauth/token',
  revoke: '/oauth/revoke',
  register: '/oauth/register',
  consent: '/oauth/consent/{id}',
} as const;

const CAPSULE = /^\/api\/capsules\/(cap_[0-9a-z]{26})\/mcp$/;

export interface Resource {
  readonly path: string;
  /** The capsule of the endpoint; undefined at the unified one. Its existence is not checked. */
  readonly capsuleId: string | undefined;
  /** The address below BASE_URL, without a query: the audience of the tokens. */
  readonly url: string;
}

/** Where clients find the endpoints, and which of them an address names. */
export class Addresses {
  readonly base: URL;
  /** The path of BASE_URL without a trailing slash: empty for most. */
  readonly prefix: string;
  readonly issuer: string;

  constructor(baseUrl: string) {
    this.base = new URL(baseUrl);
    this.prefix = this.base.pathname.replace(/\/$/, '');
    this.issuer = baseUrl;
  }

  at(path: string): string {
    return `${this.base.origin}${this.prefix}${path}`;
  }

  /** The address of the endpoint as the client typed it. */
  typed({ path }: Resource, origin: string): string {
    return `${origin}${this.prefix}${path}`;
  }

  get unified(): Resource {
    return { path: MCP_PATH, capsuleId: undefined, url: this.at(MCP_PATH) };
  }

  /** The endpoint with this path, as the server receives it. All well-formed capsule ids are treated alike, so that none can be probed. */
  resourceAt(path: string): Resource | undefined {
    if (path === MCP_PATH) return this.unified;
    const capsuleId = CAPSULE.exec(path)?.[1];
    return capsuleId === undefined ? undefined : { path, capsuleId, url: this.at(path) };
  }

  /** The endpoint that a client names. The query does not count; another name of this machine counts as the same. */
  resourceNamed(text: string): Resource | undefined {
    if (!URL.canParse(text) || text.includes('#')) return undefined;
    const { origin, pathname, username, password } = new URL(text);
    if (username !== '' || password !== '' || !this.#isOurs(origin)) return undefined;
    return pathname.startsWith(this.prefix) ? this.resourceAt(pathname.slice(this.prefix.length)) : undefined;
  }

  /** The origin that the client typed, where it is another name of this machine; else that of BASE_URL. */
  originFor({ headers: { host } }: Pick<IncomingMessage, 'headers'>): string {
    const typed = `${this.base.protocol}//${host}`;
    return host !== undefined && URL.canParse(typed) && this.#isOurs(typed) ? new URL(typed).origin : this.base.origin;
  }

  #isOurs(origin: string): boolean {
    return origin === this.base.origin || isOtherName(origin, this.base);
  }
}
