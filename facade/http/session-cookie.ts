import { createSecretKey, type KeyObject } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import jwt from 'jsonwebtoken';
import { SESSION_COOKIE } from '../../resources/session.ts';
import type { SessionPrincipal } from '../../tools/core/access/principal.ts';

/** The cookie that carries a session: its id, signed. Only the record of the session says whether it is still open. */
export type SessionCookies = ReturnType<typeof createSessionCookies>;

/** Part of the signed text, so that nothing else signed with the same secret passes as a session. */
const AUDIENCE = 'admin-session';
const ALGORITHM = 'HS256';
/** Only this many cookies of the name are tried: others, set for a parent domain, must neither hide ours nor cost much time. */
const MOST_TRIED = 4;

/** The first secret signs; all of them verify. */
export function createSessionCookies({
  secrets,
  secure,
}: {
  readonly secrets: readonly string[];
  readonly secure: boolean;
}) {
  const keys = secrets.map((secret) => createSecretKey(Buffer.from(secret)));
  const [signer] = keys;
  if (!signer) throw new Error('There is no secret to sign sessions with.');
  const attributes = `Path=/; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`;

  return {
    /** The id of the session. Undefined if the request has no cookie of this server. */
    read(request: IncomingMessage): string | undefined {
      for (const token of cookiesNamed(SESSION_COOKIE, request.headers.cookie ?? '').slice(0, MOST_TRIED)) {
        for (const key of keys) {
          const id = sessionIn(token, key);
          if (id !== undefined) return id;
        }
      }
      return undefined;
    },
    set(response: ServerResponse, { sessionId, expiresAt }: Pick<SessionPrincipal, 'sessionId' | 'expiresAt'>): void {
      const exp = Math.floor(Date.parse(expiresAt) / 1000);
      const token = jwt.sign({ sid: sessionId, exp }, signer, { algorithm: ALGORITHM, audience: AUDIENCE });
      const seconds = Math.max(0, exp - Math.floor(Date.now() / 1000));
      response.appendHeader('Set-Cookie', `${SESSION_COOKIE}=${token}; Max-Age=${seconds}; ${attributes}`);
    },
    clear(response: ServerResponse): void {
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
  const start = `${name}=`;
  const pairs = header.split(';').map((pair) => pair.trim());
  return pairs.filter((pair) => pair.startsWith(start) && pair !== start).map((pair) => pair.slice(start.length));
}
