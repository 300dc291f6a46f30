import { DAY_MS } from '../../resources/durations.ts';
import type { OAuthClientRecord } from '../../resources/oauth-client.ts';
import { newId } from '../../store/ids.ts';
import type { Readers, Store } from '../../store/port.ts';
import { redirectProblem } from '../../tools/apps/oauth-clients.ts';
import { hashSecret } from '../../tools/core/access/key-secret.ts';
import { type ClientMetadata, redirectHost } from './client-metadata.ts';
import type { ClientDocuments } from './documents.ts';
import { makeRoom } from './unused-clients.ts';

const USE_NOTED_EVERY_MS = DAY_MS;

/** A client as the library reads it (RFC 7591). `client_secret` is the hash of the secret. */
export type ClientProperties = Readonly<Record<string, unknown>> & { readonly client_id: string };

export interface AskingClient {
  readonly id: string;
  readonly name: string;
  readonly host: string;
  /** Whether the name was published by the host that answers go to, or given by an administrator. */
  readonly verified: boolean;
  readonly redirectUri: string;
}

export type ClientKind = OAuthClientRecord['kind'];

interface Options {
  readonly store: Store;
  readonly documents: ClientDocuments;
  now(): Date;
}

export class Clients {
  readonly #options: Options;

  constructor(options: Options) {
    this.#options = options;
  }

  /** @throws OAuthError if its metadata document cannot be had */
  async find(clientId: string): Promise<ClientProperties | undefined> {
    const kept = await findClient(this.#options.store, clientId);
    const client = kept && kept.kind !== 'metadata' ? kept : await this.#options.documents.find(clientId, kept);
    return client && propertiesOf(client);
  }

  async kindOf(clientId: string): Promise<ClientKind | undefined> {
    return (await findClient(this.#options.store, clientId))?.kind;
  }

  async asking(clientId: string, redirectUri: string): Promise<AskingClient | undefined> {
    const client = await findClient(this.#options.store, clientId);
    if (!client) return undefined;
    const host = redirectHost(redirectUri);
    // Any program of this computer can take the answer that a published client has sent here.
    const isPublished = client.kind === 'metadata' && new URL(redirectUri).protocol === 'https:';
    const verified = client.kind === 'made' || (isPublished && host === new URL(clientId).host);
    return { id: clientId, name: client.name === '' ? host : client.name, host, verified, redirectUri };
  }

  /** @throws OAuthError, UniqueTaken never: the id is new */
  async register(metadata: ClientMetadata, secret: string | undefined, network: string): Promise<OAuthClientRecord> {
    await makeRoom(this.#options.store, 'registered');
    return this.#options.store.transaction((tx) => {
      const id = newId('ocl');
      return tx.oauthClients.insert({
        id,
        clientId: id,
        kind: 'registered',
        name: metadata.client_name ?? '',
        redirectUris: [...metadata.redirect_uris],
        ...(secret !== undefined && { secretHash: hashSecret(secret) }),
        metadata: { ...metadata },
        networkHash: hashSecret(network),
      });
    });
  }

  /** Remembers, to the day, that the client was used. */
  async noteUse(clientId: string): Promise<void> {
    const client = await findClient(this.#options.store, clientId);
    const now = this.#options.now();
    if (!client || now.getTime() - Date.parse(client.lastUsedAt ?? '1970-01-01') < USE_NOTED_EVERY_MS) return;
    await this.#options.store.transaction(async (tx) => {
      if (await tx.oauthClients.get(client.id)) {
        await tx.oauthClients.touch(client.id, { lastUsedAt: now.toISOString() });
      }
    });
  }
}

export async function findClient(
  { oauthClients }: Pick<Readers, 'oauthClients'>,
  clientId: string,
): Promise<OAuthClientRecord | undefined> {
  return await oauthClients.first({ where: { clientId } });
}

function propertiesOf({ clientId, kind, secretHash, name, metadata, ...kept }: OAuthClientRecord): ClientProperties {
  // An earlier version may have let in an address that is refused today.
  const redirectUris = kept.redirectUris.filter((uri) => kind === 'made' || redirectProblem(uri) === undefined);
  const { token_endpoint_auth_method: method, jwks, jwks_uri } = metadata;
  return {
    client_id: clientId,
    ...(name !== '' && { client_name: name }),
    redirect_uris: redirectUris,
    response_modes: ['query'],
    token_endpoint_auth_method: method ?? (secretHash === undefined ? 'none' : 'client_secret_basic'),
    ...(secretHash !== undefined && { client_secret: secretHash }),
    ...(jwks !== undefined && { jwks }),
    ...(jwks_uri !== undefined && { jwks_uri }),
  };
}
