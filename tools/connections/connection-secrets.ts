import type { Connection, ConnectionAuth, ConnectionRecord } from '../../resources/connection.ts';
import { SECRET_MASK } from '../../resources/integration.ts';
import type { Change } from '../../store/port.ts';
import { keepOrSeal } from '../core/sealing/kept-secret.ts';
import type { SecretBox } from '../core/sealing/secrets.ts';

type Member = 'token' | 'password' | 'value' | 'clientSecret';

/** The member of each form of auth that is a secret. */
const SECRET_OF: { readonly [Type in ConnectionAuth['type']]?: Member } = {
  bearer: 'token',
  basic: 'password',
  header: 'value',
  'oauth-client-credentials': 'clientSecret',
};

/** The members that hold a secret, or that it is sent to. */
export interface Target {
  readonly baseUrl?: string | undefined;
  readonly webhookUrl?: string | undefined;
  readonly signingSecret?: string | undefined;
  readonly auth?: ConnectionAuth | undefined;
}

type SealedTarget = Partial<Pick<ConnectionRecord, keyof Target>>;

/** What is stored of these members. A kept secret stays with the origin and the client that it was given for. @throws ToolError (invalid_input) */
export function sealedTarget(id: string, given: Target, box: SecretBox, current?: ConnectionRecord): SealedTarget {
  const moves =
    current !== undefined && given.baseUrl !== undefined && originOf(given.baseUrl) !== originOf(current.baseUrl);
  const { auth = moves ? maskedAuth(current.auth) : undefined } = given;
  const { signingSecret = moves && current.signingSecret ? SECRET_MASK : undefined, webhookUrl } = given;
  const keep = (path: 'webhookUrl' | 'signingSecret', text: string) =>
    keepOrSeal(text, {
      box,
      place: placeOf(id, path),
      path,
      current: current?.[path],
      moves: moves && path !== 'webhookUrl',
    });
  return {
    ...(given.baseUrl !== undefined && { baseUrl: given.baseUrl }),
    ...(webhookUrl !== undefined && { webhookUrl: keep('webhookUrl', webhookUrl) }),
    ...(webhookUrl !== undefined && webhookUrl !== SECRET_MASK && { baseUrl: originOf(webhookUrl) }),
    ...(signingSecret !== undefined && { signingSecret: keep('signingSecret', signingSecret) }),
    ...(auth && { auth: sealedAuth(id, auth, { box, current: current?.auth, moves }) }),
  };
}

interface SealingAuth {
  readonly box: SecretBox;
  readonly current: ConnectionAuth | undefined;
  readonly moves: boolean;
}

function sealedAuth(id: string, given: ConnectionAuth, { box, current, moves }: SealingAuth): ConnectionAuth {
  return withSecret(given, (text, member) =>
    keepOrSeal(text, {
      ...{ box, place: placeOf(id, member), path: `auth.${member}` },
      ...{
        current: current?.type === given.type ? secretIn(current) : undefined,
        moves: moves || isOther(current, given),
      },
    }),
  );
}

/** Whether a client secret would go to another provider, or be that of another client. */
function isOther(current: ConnectionAuth | undefined, given: ConnectionAuth): boolean {
  if (current?.type !== 'oauth-client-credentials' || given.type !== 'oauth-client-credentials') return false;
  return current.clientId !== given.clientId || originOf(current.tokenUrl) !== originOf(given.tokenUrl);
}

function secretIn(auth: ConnectionAuth): string | undefined {
  const member = SECRET_OF[auth.type];
  return member && (auth as Partial<Record<Member, string>>)[member]; // each form has its own of them
}

function withSecret<Auth extends ConnectionAuth>(auth: Auth, change: (text: string, member: Member) => string): Auth {
  const member = SECRET_OF[auth.type];
  const text = secretIn(auth);
  return member === undefined || text === undefined ? auth : { ...auth, [member]: change(text, member) };
}

function maskedAuth(auth: ConnectionAuth): ConnectionAuth {
  return withSecret(auth, () => SECRET_MASK);
}

export function originOf(url: string): string {
  return new URL(url).origin;
}

export function showConnection({ auth, webhookUrl, signingSecret, ...shown }: ConnectionRecord): Connection {
  return {
    ...shown,
    auth: maskedAuth(auth) as Connection['auth'], // its secret is the mask now
    ...(webhookUrl !== undefined && { webhookUrl: SECRET_MASK }),
    ...(signingSecret !== undefined && { signingSecret: SECRET_MASK }),
  };
}

/** A connection with its secrets in the clear, for one request. */
export type OpenConnection = ConnectionRecord & { readonly secrets: readonly string[] };

export function openConnection(record: ConnectionRecord, box: SecretBox): OpenConnection {
  const { id, auth, webhookUrl, signingSecret } = record;
  const opened = withSecret(auth, (text, member) => box.open(text, placeOf(id, member)));
  const url = webhookUrl && box.open(webhookUrl, placeOf(id, 'webhookUrl'));
  const signing = signingSecret && box.open(signingSecret, placeOf(id, 'signingSecret'));
  const parts = url ? new URL(url).pathname.split('/').filter((part) => part.length >= 8) : [];
  const own = secretIn(opened);
  const pair = opened.type === 'basic' ? [`${opened.user}:${opened.password}`] : [];
  return {
    ...record,
    auth: opened,
    ...(url && { webhookUrl: url }),
    ...(signing && { signingSecret: signing }),
    secrets: [own, url, signing, ...parts, ...pair].flatMap((text) => text || []),
  };
}

/** What an earlier key sealed, sealed with the first one. Undefined if there is nothing to change. */
export function reencryptedConnection(record: ConnectionRecord, box: SecretBox): Change<ConnectionRecord> | undefined {
  const { id, auth, webhookUrl, signingSecret } = record;
  const renewed = withSecret(auth, (text, member) => box.renew(text, placeOf(id, member)) ?? text);
  const url = webhookUrl && box.renew(webhookUrl, placeOf(id, 'webhookUrl'));
  const signing = signingSecret && box.renew(signingSecret, placeOf(id, 'signingSecret'));
  if (secretIn(renewed) === secretIn(auth) && !url && !signing) return undefined;
  return { auth: renewed, ...(url && { webhookUrl: url }), ...(signing && { signingSecret: signing }) };
}

function placeOf(id: string, member: string): string {
  return `${id} connection ${member}`;
}
