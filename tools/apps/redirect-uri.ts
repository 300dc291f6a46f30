const LOOPBACK: readonly string[] = ['localhost', '127.0.0.1', '[::1]'];
/** Schemes that browsers and systems handle themselves. An answer sent there reaches no app of the person, or runs as a program. */
const NO_APP =
  /^(javascript|vbscript|data|blob|file|about|view-source|filesystem|wss?|ftps?|ssh|sftp|mailto|tel|sms|intent|content|res|shell|search|search-ms|ms-.*|microsoft-edge|chrome.*|edge|moz-.*|resource|jar|urn|ldaps?|telnet|rlogin|smb|nfs|dav|callto|hcp|its|mhtml|mk):$/;

/** Why answers of the authorization server may not be sent to the address. Undefined where they may. */
export function redirectProblem(uri: string): string | undefined {
  if (!URL.canParse(uri) || /[\s\p{Cc}\\]/u.test(uri)) return 'must be a whole address.';
  const { protocol, hostname, username, password } = new URL(uri);
  if (uri.includes('#')) return 'must have no fragment.';
  if (username !== '' || password !== '' || /^[a-z][a-z\d+.-]*:\/\/[^/?]*@/i.test(uri)) return 'must name no user.';
  if (protocol === 'https:') return LOOPBACK.includes(hostname) ? 'must be http on this computer.' : undefined;
  if (protocol === 'http:') return LOOPBACK.includes(hostname) ? undefined : 'must be https, or http on this computer.';
  return NO_APP.test(protocol) ? `must not use the scheme ${protocol}` : undefined;
}
