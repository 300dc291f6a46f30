import { namesUser } from '../../resources/fields.ts';

const LOOPBACK: readonly string[] = ['localhost', '127.0.0.1', '[::1]'];
/** A domain that somebody holds, turned around (RFC 8252, section 7.1). Schemes of browsers and systems have no dot, as a rule. */
const REVERSED_DOMAIN = /^[a-z][a-z\d-]*(?:\.[a-z\d-]+)+:$/;
/** The exceptions: what opens there is no app of the person. */
const NO_APP = /^(?:x-apple|ms-[a-z\d-]+|chrome[a-z-]*|moz-[a-z-]+)\./;
/** Schemes without a dot at which well-known MCP clients publish their addresses. */
const WELL_KNOWN: readonly string[] = ['cursor:', 'vscode:', 'vscode-insiders:'];

/** Why answers of the authorization server may not be sent to the address. Undefined if they may. */
export function redirectProblem(uri: string): string | undefined {
  if (!URL.canParse(uri) || /[\s\p{Cc}\\]/u.test(uri)) return 'must be a whole address.';
  const { protocol, hostname } = new URL(uri);
  if (uri.includes('#')) return 'must have no fragment.';
  if (namesUser(uri)) return 'must name no user.';
  if (protocol === 'https:') return LOOPBACK.includes(hostname) ? 'must be http on this computer.' : undefined;
  if (protocol === 'http:') return LOOPBACK.includes(hostname) ? undefined : 'must be https, or http on this computer.';
  if (WELL_KNOWN.includes(protocol)) return undefined;
  if (REVERSED_DOMAIN.test(protocol) && !NO_APP.test(protocol)) return undefined;
  return `must not use the scheme ${protocol} but https, http on this computer, or a domain of yours turned around, as in com.example.app:/callback.`;
}
