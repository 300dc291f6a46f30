import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Door } from '../resources/audit-entry.ts';
import type { Principal } from '../tools/access/principal.ts';

/** An authenticated request on its way through a door. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  readonly principal: Principal;
  readonly door: Door;
  /** Path and query as the client sent them. */
  readonly url: URL;
  /** Whether the credential would still be accepted; asked again while a stream stays open. */
  stillValid(): Promise<boolean>;
}
