import type { Connection, ConnectionAuth, ConnectionRecord } from '../../resources/connection.ts';
import { SECRET_MASK } from '../../resources/integration.ts';
import type { Change } from '../../store/port.ts';
import { sealSecret } from '../core/sealing/seal-secret.ts';
import type { SecretBox } from '../core/sealing/secrets.ts';

/** The members that hold a secret, or say where it is sent. */
export interface Target {
  readonly baseUrl?: string | undefined;
  readonly webhookUrl?: string | undefined;
  readonly auth?: ConnectionAuth | undefined;
}

type SealedTarget = Partial<Pick<ConnectionRecord, keyof Target>>;

/** What is stored of these members. A kept secret stays with the origin and the client that it was given for. @throws ToolError (invalid_input) */
export function sealedTarget(
  id: string,
  { baseUrl, webhookUrl, auth: given }: Target,
  box: SecretBox,
  current?: ConnectionRecord,
): SealedTarget {
  const isMoved = current !== undefined && baseUrl !== undefined && originOf(baseUrl) !== originOf(current.baseUrl);
  const auth = given ?? (isMoved ? maskedAuth(current.auth) : undefined);
  const former = auth && current?.auth.type === auth.type ? current.auth : undefined;
  const keep = (path: string, text: string, kept: { readonly current: string | undefined; readonly moves?: boolean }) =>
    sealSecret(text, { box, place: placeOf(id, path), path, ...kept });
  const moves = isMoved || (former && auth && isOther(former, auth));
  const secret = auth?.secret && keep('auth.secret', auth.secret, { current: former?.secret, moves: moves === true });
  return {
    ...(baseUrl !== undefined && { baseUrl }),
    ...(webhookUrl !== undefined && { webhookUrl: keep('webhookUrl', webhookUrl, { current: current?.webhookUrl }) }),
    ...(webhookUrl !== undefined && webhookUrl !== SECRET_MASK && { baseUrl: originOf(webhookUrl) }),
    ...(auth && { auth: { ...auth, ...(secret && { secret }) } }),
  };
}

/** Whether a client secret would go to another provider, or be that of another client. */
function isOther(former: ConnectionAuth, auth: ConnectionAuth): boolean {
  const { tokenUrl: before, user } = former;
  const { tokenUrl: after } = auth;
  if (before === undefined || after === undefined) return false;
  return user !== auth.user || originOf(before) !== originOf(after);
}

function maskedAuth({ secret, ...auth }: ConnectionAuth) {
  return { ...auth, ...(secret !== undefined && { secret: MASK }) };
}

const MASK: typeof SECRET_MASK = SECRET_MASK;

export function originOf(url: string): string {
  return new URL(url).origin;
}

export function showConnection({ auth, webhookUrl: _, createdBy: __, ...shown }: ConnectionRecord): Connection {
  return { ...shown, auth: maskedAuth(auth) };
}

/** A connection with its secrets in the clear, for one request. */
export interface OpenConnection {
  readonly name: string;
  readonly baseUrl: string;
  readonly webhookUrl: string;
  readonly auth: ConnectionAuth & { readonly secret: string };
  /** What no answer may show. */
  readonly secrets: readonly string[];
}

export function openConnection(
  { id, name, baseUrl, auth, ...sealed }: ConnectionRecord,
  box: SecretBox,
): OpenConnection {
  const open = (text: string | undefined, path: string) =>
    text === undefined ? '' : box.open(text, placeOf(id, path));
  const secret = open(auth.secret, 'auth.secret');
  const webhookUrl = open(sealed.webhookUrl, 'webhookUrl');
  // Each part of the address of a webhook could be what opens it.
  const parts = webhookUrl.split(/[/?&=#]+/).slice(2);
  const pair = auth.type === 'basic' ? `${auth.user}:${secret}` : '';
  const secrets = [secret, webhookUrl, pair, ...parts].filter((text) => text !== '');
  return { name, baseUrl, webhookUrl, auth: { ...auth, secret }, secrets };
}

/** What an earlier key sealed, sealed with the first one. Undefined if there is nothing to change. */
export function reencryptedConnection(
  { id, auth, webhookUrl }: ConnectionRecord,
  box: SecretBox,
): Change<ConnectionRecord> | undefined {
  const secret = auth.secret && box.renew(auth.secret, placeOf(id, 'auth.secret'));
  const url = webhookUrl && box.renew(webhookUrl, placeOf(id, 'webhookUrl'));
  if (!secret && !url) return undefined;
  return { ...(secret && { auth: { ...auth, secret } }), ...(url && { webhookUrl: url }) };
}

function placeOf(id: string, path: string): string {
  return `${id} connection ${path}`;
}
