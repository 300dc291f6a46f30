import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Door } from '../../resources/audit-entry.ts';
import type { Principal } from '../../tools/core/access/principal.ts';
import type { Standing } from '../../tools/core/access/standing.ts';

/** An authenticated request on its way through a door. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  readonly principal: Principal;
  readonly door: Door;
  /** Path and query as the client sent them. */
  readonly url: URL;
  /** The capsule to which the endpoint belongs. */
  readonly capsuleId?: string | undefined;
  /** Why the request was not answered as its caller wished, as a kind; set while it is answered. */
  failure?: string | undefined;
  /** The principal the credential stands for now, or why it is no longer accepted; asked while a call or stream goes on. */
  renewed(): Promise<Standing>;
  /** Counts a message that calls a tool, if the caller's calls are limited. @throws ToolError if there were too many */
  beforeCall?(): Promise<void> | undefined;
  /** Names, in the headers of the answer, the scopes that a connected app can ask its person for. */
  askFor?(scopes: readonly string[]): Promise<void>;
}
