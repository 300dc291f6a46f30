import type { IncomingMessage } from 'node:http';
import type { OAuthClientRecord } from '../../resources/oauth-client.ts';
import type { Cluster } from '../../store/cluster-port.ts';
import { newSecret } from '../../tools/core/access/key-secret.ts';
import { anonymous } from '../../tools/core/access/principal.ts';
import { createRateLimit } from '../../tools/core/access/rate-limit.ts';
import { networkOf } from '../../tools/sign-in/attempts.ts';
import { CREDENTIAL, decodeText, readBody } from '../http/body.ts';
import { addressOf } from '../http/request-context.ts';
import { OAuthError } from './answers.ts';
import { type ClientMetadata, readClientMetadata } from './client-metadata.ts';
import type { ClientProperties, Clients } from './clients.ts';

export const PER_ADDRESS = 20;
/** Only a flood from many networks comes so far. */
export const IN_ALL = 1200;

interface Options {
  readonly clients: Clients;
  readonly cluster: Cluster | undefined;
  /** What the library thinks of the metadata. @throws where it does not accept it */
  validate(properties: ClientProperties): Promise<void>;
}

/** Dynamic registration (RFC 7591), open to everybody: what registers here can ask people and nothing else. */
export function createRegistration({ clients, cluster, validate }: Options) {
  const fromAddress = createRateLimit(PER_ADDRESS, 'registrations from one address', { cluster });
  const inAll = createRateLimit(IN_ALL, 'registrations', { cluster });

  /** @throws OAuthError, ToolError */
  return async function register(request: IncomingMessage): Promise<Record<string, unknown>> {
    const network = networkOf(addressOf(request));
    await fromAddress(network);
    await inAll('all');
    const metadata = readClientMetadata(await readJson(request));
    const needsSecret = metadata.token_endpoint_auth_method.startsWith('client_secret_');
    const secret = needsSecret ? newSecret('client') : undefined;
    await validate({ ...metadata, client_id: 'new', ...(secret !== undefined && { client_secret: secret }) });
    return answerOf(await clients.register(metadata, secret, network), metadata, secret);
  };
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const text = decodeText(await readBody({ request, principal: anonymous(addressOf(request)) }, CREDENTIAL));
  try {
    return JSON.parse(text);
  } catch {
    throw new OAuthError('invalid_client_metadata', 'The body is not JSON.');
  }
}

function answerOf({ clientId, createdAt }: OAuthClientRecord, metadata: ClientMetadata, secret: string | undefined) {
  return {
    client_id: clientId,
    client_id_issued_at: Math.floor(Date.parse(createdAt) / 1000),
    ...(secret !== undefined && { client_secret: secret, client_secret_expires_at: 0 }),
    ...metadata,
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
  };
}
