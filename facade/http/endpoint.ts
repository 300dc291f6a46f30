import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Method } from '../routes.ts';
import type { Exchange } from './exchange.ts';

/** A method and a path that the server answers itself; everything else is the pages'. */
export type Endpoint = ApiEndpoint | OpenEndpoint;

/** Decoded path parameters. */
export type Parameters = Readonly<Record<string, string>>;

interface Place {
  /** `*`: the endpoint takes every method, `OPTIONS` too. */
  readonly method: Method | '*';
  /** Segments, of which `{name}` stands for any one, and `{+name}` at the end for everything below. */
  readonly path: string;
}

/** An endpoint below `/api`. Its callers have shown who they are. */
export interface ApiEndpoint extends Place {
  readonly open?: false;
  /** The caller says who it is in the body, so it is nobody yet. */
  readonly signsIn?: boolean;
  /** An MCP endpoint; that of a capsule has its id as the parameter `id`. */
  readonly mcp?: 'unified' | 'capsule';
  serve(exchange: Exchange, parameters: Parameters): Promise<void>;
}

/** An endpoint that answers everybody: it checks for itself whatever it needs. */
export interface OpenEndpoint extends Place {
  readonly open: true;
  serve(request: IncomingMessage, response: ServerResponse, parameters: Parameters): Promise<void> | void;
}
