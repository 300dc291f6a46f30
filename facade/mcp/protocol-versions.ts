import type { IncomingMessage } from 'node:http';

/** The stateless revision: it has no handshake, and each request names its client in `_meta`. */
export const MODERN_VERSION = '2026-07-28';

/** Revisions that begin with `initialize`, newest first. */
export const LEGACY_VERSIONS: readonly string[] = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'];

export const PROTOCOL_VERSIONS: readonly string[] = [MODERN_VERSION, ...LEGACY_VERSIONS];

export type Era = 'legacy' | 'modern';

export function isModern({ request }: { readonly request: Pick<IncomingMessage, 'headers'> }): boolean {
  return request.headers['mcp-protocol-version'] === MODERN_VERSION;
}

/** Stays open for as long as its client listens. */
export const LISTEN = 'subscriptions/listen';

/** The methods and notifications that are served, each in the revisions that have it. */
export const SERVED_METHODS = [
  ...(['initialize', 'server/discover', 'ping', 'logging/setLevel', 'completion/complete', LISTEN] as const),
  ...(['tools/list', 'tools/call', 'prompts/list', 'prompts/get'] as const),
  ...(['resources/list', 'resources/templates/list', 'resources/read'] as const),
  ...(['notifications/initialized', 'notifications/cancelled', 'notifications/progress'] as const),
  'notifications/roots/list_changed',
] as const;
