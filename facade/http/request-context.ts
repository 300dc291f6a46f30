import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isIP, isIPv6, SocketAddress } from 'node:net';
import type { Request } from 'express';
import type { Door } from '../../resources/audit-entry.ts';
import type { CredentialStatus } from '../../tools/core/access/credential-status.ts';
import type { Principal } from '../../tools/core/access/principal.ts';
import type { ToolError } from '../../tools/core/errors.ts';
import type { Progress } from '../../tools/core/registry/call.ts';
import { unmapped } from '../config/trusted-proxies.ts';
import type { Method } from '../routes.ts';
import { type Target, targetOf } from './target.ts';

/** A method and a path that the server answers itself. All other paths belong to the pages. */
export interface Endpoint {
  /** `*`: the endpoint takes every method, `OPTIONS` too. */
  readonly method: Method | '*';
  /** Segments. `{name}` stands for any single segment, `{+name}` at the end for everything below. */
  readonly path: string;
  /** It answers everybody and makes its own checks. All others are below `/api`, and their callers show who they are first. */
  readonly open?: boolean;
  /** Senders may call it with a signature in place of a credential. The parameter `id` is the flow that they trigger. */
  readonly webhook?: boolean;
  /** The caller signs in by the body, so there is no principal yet. */
  readonly signsIn?: boolean;
  /** An MCP endpoint. The endpoint of a capsule has the capsule's id as the parameter `id`. */
  readonly mcp?: 'unified' | 'capsule';
  /** The token of a capsule opens it too. What its tools are decides what comes of that. */
  readonly forCapsules?: boolean;
  /** Answers an error in the form that its clients read. Default: that of REST. */
  readonly sendError?: (response: ServerResponse, error: ToolError) => void;
  serve(context: RequestContext): Promise<void> | void;
}

export interface CallerChecks {
  /** The principal the credential stands for now, or why it is no longer accepted. */
  checkCredential(context: RequestContext): Promise<CredentialStatus>;
  /** Counts a message that calls a tool, if the caller's calls are limited. @throws ToolError if there were too many */
  beforeCall?(context: RequestContext): Promise<void> | undefined;
  /** Names, in the headers of the answer, the scopes that a connected app can ask its person for. */
  challengeForScopes?(context: RequestContext, scopes: readonly string[]): Promise<void>;
}

/** One request, from its first byte to the end of its answer. */
export class RequestContext {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  readonly target: Target;
  /** All endpoints at the path, and the one that takes the method. Empty and undefined until they were looked for, and at other paths. */
  here: readonly Endpoint[] = [];
  endpoint: Endpoint | undefined;
  parameters: Readonly<Record<string, string>> = NONE;
  /** The kind of failure, for metrics and traces; set while the request is answered. */
  failure: string | undefined;
  message: unknown;
  /** Set where the client wants reports of progress. */
  onProgress: ((progress: Progress) => void) | undefined;
  /** Called with the principal each time it is checked again during a stream. */
  onRenewed: ((principal: Principal) => void) | undefined;
  #caller: { readonly principal: Principal; readonly checks: CallerChecks } | undefined;
  #address: string | undefined;
  /** Made when it is first needed, because it costs more than the rest of a short call. */
  #controller: AbortController | undefined;
  #cancelled = false;

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.request = request;
    this.response = response;
    this.requestId = chooseRequestId(request);
    this.target = targetOf(request);
  }

  admit(principal: Principal, checks: CallerChecks): void {
    this.#caller = { principal, checks };
  }

  get principal(): Principal {
    if (!this.#caller) throw new Error('The caller has not shown yet who they are.');
    return this.#caller.principal;
  }

  checkCredential(): Promise<CredentialStatus> {
    return this.#checks.checkCredential(this);
  }

  beforeCall(): Promise<void> | undefined {
    return this.#checks.beforeCall?.(this);
  }

  async challengeForScopes(scopes: readonly string[]): Promise<void> {
    await this.#checks.challengeForScopes?.(this, scopes);
  }

  get #checks(): CallerChecks {
    if (!this.#caller) throw new Error('The caller has not shown yet who they are.');
    return this.#caller.checks;
  }

  /** Path and query as the client sent them. */
  get url(): URL {
    if (!this.target.url) throw new Error('The target of the request cannot be read.');
    return this.target.url;
  }

  get capsuleId(): string | undefined {
    const [first] = this.here;
    if (first?.mcp === 'capsule') return this.parameters.id;
    const caller = this.#caller?.principal;
    return first?.forCapsules && caller?.type === 'capsule' ? caller.id : undefined;
  }

  /** The stdio door and the dashboard reach the server over MCP and say who they are; it is a label and gives no rights. */
  get door(): Door {
    if (this.principal.type === 'capsule' || this.capsuleId !== undefined) return 'capsule';
    const said = this.request.headers['x-agent-admin-door'];
    if (said === 'dashboard' && this.principal.type === 'session') return 'dashboard';
    return said === 'stdio' ? 'stdio' : 'mcp';
  }

  /** The address that the request comes from; to be asked while the connection is open. */
  get address(): string {
    this.#address ??= addressOf(this.request);
    return this.#address;
  }

  /** Whether the client went away or cancelled the request. */
  get aborted(): boolean {
    return this.#cancelled || (this.response.destroyed && !this.response.writableFinished);
  }

  get signal(): AbortSignal {
    this.#controller ??= this.#watched();
    return this.#controller.signal;
  }

  #watched(): AbortController {
    const controller = new AbortController();
    if (this.aborted) controller.abort();
    this.response.once('close', () => {
      if (this.aborted) controller.abort();
    });
    return controller;
  }

  abort(): void {
    this.#cancelled = true;
    this.#controller?.abort();
  }
}

const NONE: Readonly<Record<string, string>> = Object.freeze({});

/** The id of a request is kept if it is short and plain, so that it can be searched for in logs. */
function chooseRequestId({ headers }: IncomingMessage): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && /^[\w.:-]{1,128}$/.test(given) ? given : randomUUID();
}

export function contextOf(response: ServerResponse): RequestContext {
  if ('context' in response && response.context instanceof RequestContext) return response.context;
  throw new Error('The response was not made by the server of createNativeServer.');
}

/**
 * The right-most address of `X-Forwarded-For` that is no trusted proxy, where a trusted proxy connects; else that of the connection. Of a
 * malformed header, the readable part that trusted proxies wrote counts.
 */
export function addressOf(request: IncomingMessage): string {
  // Every request of the app has Express's members; outermost first, without the end of the connection.
  const { ips } = request as Request;
  for (const hop of ips) {
    const address = addressIn(hop);
    if (address !== undefined) return address;
  }
  return unmapped(request.socket.remoteAddress ?? 'unknown');
}

/** The address in its usual spelling, without the port that some proxies add. */
function addressIn(hop: string): string | undefined {
  const bare = /^\[([^\]]*)\](?::\d+)?$/.exec(hop)?.[1] ?? /^([\d.]+):\d+$/.exec(hop)?.[1] ?? hop;
  // The name of a network interface means nothing on another machine.
  if (isIP(bare) === 0 || bare.includes('%')) return undefined;
  return unmapped(isIPv6(bare) ? new SocketAddress({ address: bare, family: 'ipv6' }).address : bare);
}
