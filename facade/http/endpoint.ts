import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Method } from '../routes.ts';
import type { Exchange } from './exchange.ts';

/** A method and a path that the server answers itself. All other paths belong to the pages. */
export type Endpoint = ApiEndpoint | OpenEndpoint;

/** Decoded path parameters. */
export type Parameters = Readonly<Record<string, string>>;

interface Place {
  /** `*`: the endpoint takes every method, `OPTIONS` too. */
  readonly method: Method | '*';
  /** Segments. `{name}` stands for any single segment, `{+name}` at the end for everything below. */
  readonly path: string;
}

/** An endpoint below `/api`. Its callers have shown who they are. */
export interface ApiEndpoint extends Place {
  readonly open?: false;
  /** Senders may call it with a signature in place of a credential. The parameter `id` is the flow that they trigger. */
  readonly webhook?: boolean;
  /** The caller signs in by the body, so there is no principal yet. */
  readonly signsIn?: boolean;
  /** An MCP endpoint. The endpoint of a capsule has the capsule's id as the parameter `id`. */
  readonly mcp?: 'unified' | 'capsule';
  serve(exchange: Exchange, parameters: Parameters): Promise<void>;
}

/** An endpoint that answers everybody. It makes its own checks. */
export interface OpenEndpoint extends Place {
  readonly open: true;
  serve(request: IncomingMessage, response: ServerResponse, parameters: Parameters): Promise<void> | void;
}
