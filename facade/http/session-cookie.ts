import { createSecretKey, type KeyObject } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import jwt from 'jsonwebtoken';
import { SESSION_COOKIE } from '../../resources/session.ts';
import type { SessionPrincipal } from '../../tools/core/access/principal.ts';

/** The cookie that carries a session: its id, signed. Only the record of the session says whether it is still open. */
export interface SessionCookies {
  /** The id of the session in the request's cookie. Undefined if there is no cookie of this server. */
  read(request: IncomingMessage): string | undefined;
  set(response: ServerResponse, session: Pick<SessionPrincipal, 'sessionId' | 'expiresAt'>): void;
  clear(response: ServerResponse): void;
}

interface SessionCookieOptions {
  /** The first secret signs; all of them verify. */
  readonly secrets: readonly string[];
  readonly secure: boolean;
}

/** Part of the signed text, so that nothing else signed with the same secret passes as a session. */
const AUDIENCE = 'admin-session';
const ALGORITHM = 'HS256';
/** Only this many cookies of the name are tried: others, set for a parent domain, must neither hide ours nor cost much time. */
const MOST_TRIED = 4;

export function createSessionCookies({ secrets, secure }: SessionCookieOptions): SessionCookies {
  const keys = secrets.map((secret) => createSecretKey(Buffer.from(secret)));
  const [signer] = keys;
  if (!signer) throw new Error('There is no secret to sign sessions with.');
  const attributes = `Path=/; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`;

  return {
    read(request) {
      for (const token of cookiesNamed(SESSION_COOKIE, request.headers.cookie ?? '').slice(0, MOST_TRIED)) {
        for (const key of keys) {
          const id = sessionIn(token, key);
          if (id !== undefined) return id;
        }
      }
      return undefined;
    },
    set(response, { sessionId, expiresAt }) {
      const exp = Math.floor(Date.parse(expiresAt) / 1000);
      const token = jwt.sign({ sid: sessionId, exp }, signer, { algorithm: ALGORITHM, audience: AUDIENCE });
      const seconds = Math.max(0, exp - Math.floor(Date.now() / 1000));
      response.appendHeader('Set-Cookie', `${SESSION_COOKIE}=${token}; Max-Age=${seconds}; ${attributes}`);
    },
    clear(response) {
      response.appendHeader('Set-Cookie', `${SESSION_COOKIE}=; Max-Age=0; ${attributes}`);
    },
  };
}

function sessionIn(token: string, key: KeyObject): string | undefined {
  try {
    const payload = jwt.verify(token, key, { algorithms: [ALGORITHM], audience: AUDIENCE });
    return typeof payload === 'object' && typeof payload.sid === 'string' ? payload.sid : undefined;
  } catch {
    return undefined;
  }
}

/** Values of the cookies of this name, as the browser orders them. */
export function cookiesNamed(name: string, header: string): string[] {
  return header.split(';').flatMap((pair) => {
    const [key, value] = splitOnce(pair.trim());
    return key === name && value !== '' ? [value] : [];
  });
}

function splitOnce(pair: string): [string, string] {
  const at = pair.indexOf('=');
  return at < 0 ? ['', ''] : [pair.slice(0, at), pair.slice(at + 1)];
}
