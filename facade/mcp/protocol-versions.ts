import type { IncomingMessage } from 'node:http';

/** The stateless revision: it has no handshake, and each request names its client in `_meta`. */
export const MODERN_VERSION = '2026-07-28';

/** Revisions that begin with `initialize`, newest first. */
export const LEGACY_VERSIONS: readonly string[] = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'];

/** Every MCP revision this server speaks, newest first. */
export const PROTOCOL_VERSIONS: readonly string[] = [MODERN_VERSION, ...LEGACY_VERSIONS];

export type Era = 'legacy' | 'modern';

/** Whether the request names the stateless revision. */
export function isModern({ request }: { readonly request: Pick<IncomingMessage, 'headers'> }): boolean {
  return request.headers['mcp-protocol-version'] === MODERN_VERSION;
}
