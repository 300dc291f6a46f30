import assert from 'node:assert/strict';
import { mustCall, type RestAnswer, rest } from './calls.ts';

interface Server {
  readonly baseUrl: string;
  readonly adminKey: string;
}

/** An ID token of the server's own issuer for the person. */
export async function idTokenFor(server: Server, email = 'admin@localhost'): Promise<string> {
  return (await mustCall(server, server.adminKey, 'create_sign_in_link', { email })).idToken;
}

export function postIdToken(
  server: Pick<Server, 'baseUrl'>,
  idToken: unknown,
  headers: Record<string, string> = {},
): Promise<RestAnswer> {
  return rest(server, 'POST', '/api/v1/auth/session', { body: { idToken }, headers });
}

/** Signs the person in; the cookie as a browser sends it. */
export async function signIn(server: Server, email?: string): Promise<string> {
  return cookieOf(await postIdToken(server, await idTokenFor(server, email)));
}

export function cookieOf({ status, headers }: RestAnswer): string {
  assert.equal(status, 201);
  const [cookie = ''] = headers.getSetCookie();
  return cookie.split(';')[0] ?? '';
}

/** The status of a call with the cookie or key. */
export async function statusWith(server: Pick<Server, 'baseUrl'>, key: string): Promise<number> {
  return (await rest(server, 'GET', '/api/v1/auth/session', { key })).status;
}
