import {
  AuthorizationServerMismatchError,
  auth,
  extractWWWAuthenticateParams,
  IssuerMismatchError,
  type OAuthClientMetadata,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  OAuthError,
  RegistrationRejectedError,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import type { IntegrationRecord } from '../../../resources/integration.ts';
import { ToolError } from '../../core/errors.ts';
import type { Fetch } from '../../core/outbound/fetch.ts';
import { AddressRefused } from '../../core/outbound/ip-addresses.ts';
import { cleanText } from '../../core/outbound/untrusted-text.ts';
import type { SecretBox } from '../../core/sealing/secrets.ts';
import { type AccountSecrets, type FlowSecrets, type KnownClient, newSecret } from './account-secrets.ts';
import { withOAuthFetch } from './revocation.ts';

export interface AuthorizeDeps {
  readonly identity: ClientIdentity;
  readonly secrets: SecretBox;
  readonly privateAddresses: boolean;
  now(): Date;
}

/** A flow that has begun: where the person has to go, and what its end needs. */
interface StartedAuthorization {
  readonly url: URL;
  readonly state: string;
  readonly secrets: FlowSecrets;
}

/** Finds the provider, registers there where necessary, and makes the address that asks the person. @throws ToolError */
export function beginFlow(
  integration: IntegrationRecord,
  { scopes, client }: { readonly scopes: readonly string[] | undefined; readonly client: KnownClient | undefined },
  { identity, secrets, privateAddresses }: AuthorizeDeps,
): Promise<StartedAuthorization> {
  const given = givenClient(integration, secrets, identity);
  const serverUrl = new URL(integration.url ?? '');
  return withOAuthFetch(privateAddresses, async (fetchFn) => {
    let flow: ReturnType<typeof flowProvider>;
    try {
      const challenge = await challengeOf(serverUrl, fetchFn);
      const wanted = scopes ?? integration.oauth?.scopes ?? challenge.scopes;
      flow = flowProvider(identity, { given, known: client, scopes: wanted });
      const scope = wanted.length > 0 ? { scope: wanted.join(' ') } : {};
      const known = challenge.metadata ? { resourceMetadataUrl: challenge.metadata } : {};
      await auth(flow.provider, { serverUrl, fetchFn, ...scope, ...known });
    } catch (error) {
      throw refusalOf(error);
    }
    const { url } = flow.state;
    if (!url || !isPage(url, privateAddresses)) throw new ToolError('conflict', NO_PAGE);
    return { url, state: flow.text, secrets: secretsIn(flow.state, identity.redirectUri, given !== undefined) };
  });
}

export function finishFlow(
  integration: IntegrationRecord,
  { answer, flow }: { readonly answer: URLSearchParams; readonly flow: FlowSecrets },
  { identity, privateAddresses, now }: AuthorizeDeps,
): Promise<AccountSecrets> {
  const given = flow.client.isGiven ? flow.client : undefined;
  const { provider, state } = flowProvider(identity, { given }, flow);
  return withOAuthFetch(privateAddresses, async (fetch) => {
    try {
      const transport = new StreamableHTTPClientTransport(new URL(integration.url ?? ''), {
        authProvider: provider,
        fetch,
      });
      await transport.finishAuth(answer);
    } catch (error) {
      throw refusalOf(error);
    }
    const { tokens } = state;
    if (!tokens) throw new ToolError('conflict', 'The provider gave no token; try again.');
    const { client, discovery } = secretsIn(state, identity.redirectUri, given !== undefined);
    return { client, discovery, tokens, until: endOf(tokens.expires_in, now()) };
  });
}

export function endOf(seconds: number | undefined, now: Date): string | undefined {
  return seconds === undefined
    ? undefined
    : new Date(now.getTime() + Math.max(0, Math.min(seconds, A_YEAR)) * 1000).toISOString();
}

const A_YEAR = 365 * 24 * 3600;

export function clientSecretContext(id: string): string {
  return `${id} oauth clientSecret`;
}

function givenClient({ id, oauth }: IntegrationRecord, box: SecretBox, { redirectUri }: ClientIdentity) {
  if (oauth?.clientId === undefined) return undefined;
  const { clientId, clientSecret, issuer } = oauth;
  const information = {
    client_id: clientId,
    ...(clientSecret !== undefined && { client_secret: box.open(clientSecret, clientSecretContext(id)) }),
    ...(issuer !== undefined && { issuer }),
  };
  return { information, redirectUri, isGiven: true };
}

async function challengeOf(url: URL, fetch: Fetch): Promise<{ metadata?: URL; scopes: readonly string[] }> {
  const headers = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'ping' });
  const response = await fetch(url, { method: 'POST', headers, body });
  await response.body?.cancel();
  const { resourceMetadataUrl: metadata, scope = '' } =
    response.status === 401 ? extractWWWAuthenticateParams(response) : {};
  return { scopes: scope.split(' ').filter(Boolean), ...(metadata && { metadata }) };
}

function isPage({ protocol, username, password }: URL, privateAddresses: boolean): boolean {
  if (username !== '' || password !== '') return false;
  return protocol === 'https:' || (protocol === 'http:' && privateAddresses);
}

const NO_PAGE = 'The provider named no https page to sign in at, so nobody is sent there; tell who runs the server.';

/** The words of a provider are quoted and short, because people and models read them. */
function refusalOf(error: unknown): ToolError {
  if (error instanceof ToolError) return error;
  if (error instanceof AddressRefused) return new ToolError('conflict', error.message);
  if (error instanceof IssuerMismatchError || error instanceof AuthorizationServerMismatchError) {
    return new ToolError(
      'conflict',
      'The answer came from another provider than the one asked, so it was not used. Start again, and tell an administrator if it happens again.',
    );
  }
  if (error instanceof RegistrationRejectedError) {
    return new ToolError('conflict', `The provider does not register clients (HTTP ${error.status}); ${GIVE_CLIENT}`);
  }
  if (error instanceof OAuthError) {
    const said = cleanText(`${error.code}: ${error.message}`, 300);
    return new ToolError(
      'conflict',
      `The provider refused: ${JSON.stringify(said)}. Start again, or ask an administrator.`,
    );
  }
  const message = error instanceof Error ? error.message : String(error);
  if (/does not support dynamic client registration/.test(message)) {
    return new ToolError('conflict', `The provider registers no clients by itself; ${GIVE_CLIENT}`);
  }
  if (/^Protected resource \S+ does not match/.test(message)) return new ToolError('conflict', OTHER_RESOURCE);
  return new ToolError(
    'unavailable',
    `The provider could not be asked: ${JSON.stringify(cleanText(message, 300))}. Try again later.`,
  );
}

const OTHER_RESOURCE =
  'The server says that its tokens are for another address than the one of the integration, so none was asked for; an administrator corrects the url with update_integration, or tells who runs the server.';

const GIVE_CLIENT =
  'an administrator registers one there and gives it with update_integration {oauth: {clientId, clientSecret}}.';

export interface ClientIdentity {
  readonly name: string;
  readonly redirectUri: string;
  /** The address of the metadata document. Undefined if providers could not fetch it, because it is not https. */
  readonly metadataUrl: string | undefined;
}

interface AuthorizationInput {
  /** The client that an operator gave. None is registered in its place. */
  readonly given: KnownClient | undefined;
  readonly known?: KnownClient | undefined;
  readonly scopes?: readonly string[];
}

interface FlowState {
  client: StoredOAuthClientInformation | undefined;
  verifier: string;
  discovery: OAuthDiscoveryState | undefined;
  tokens?: StoredOAuthTokens;
  /** Where the person has to go. */
  url?: URL;
}

/** One flow that connects an account: what the SDK's client asks for, and what it finds out on the way. */
function flowProvider(identity: ClientIdentity, { given, known, scopes = [] }: AuthorizationInput, kept?: FlowSecrets) {
  const text = newSecret();
  const state: FlowState = {
    client: (kept?.client ?? given ?? usable(known, identity, scopes))?.information,
    verifier: kept?.verifier ?? '',
    discovery: kept?.discovery,
  };
  const saveClientInformation = (information: StoredOAuthClientInformation) => {
    state.client = information;
  };
  const provider: OAuthClientProvider = {
    redirectUrl: identity.redirectUri,
    clientMetadata: metadataOf(identity),
    ...(identity.metadataUrl !== undefined && { clientMetadataUrl: identity.metadataUrl }),
    ...(!given && { saveClientInformation }),
    state: () => text,
    clientInformation: () => state.client,
    tokens: () => undefined, // each flow begins anew, whatever an account has
    codeVerifier: () => state.verifier,
    discoveryState: () => state.discovery,
    saveTokens: (tokens) => void Object.assign(state, { tokens }),
    redirectToAuthorization: (url) => void Object.assign(state, { url }),
    saveCodeVerifier: (verifier) => void Object.assign(state, { verifier }),
    saveDiscoveryState: (discovery) => void Object.assign(state, { discovery }),
    invalidateCredentials(what) {
      if (!given && (what === 'client' || what === 'all')) state.client = undefined;
    },
  };
  return { provider, state, text };
}

function secretsIn({ client, verifier, discovery }: FlowState, redirectUri: string, isGiven: boolean): FlowSecrets {
  if (!client || !discovery) throw new Error('The flow has not begun.');
  return { client: { information: client, redirectUri, ...(isGiven && { isGiven }) }, verifier, discovery };
}

/** A client that was registered for another address of this server, or for fewer scopes, is of no use. */
function usable(client: KnownClient | undefined, { redirectUri }: ClientIdentity, scopes: readonly string[]) {
  if (!client || client.isGiven || client.redirectUri !== redirectUri) return undefined;
  const { information } = client;
  const registered = 'scope' in information ? information.scope : undefined;
  if (typeof registered !== 'string') return client;
  const names = registered.split(' ');
  return scopes.every((scope) => names.includes(scope)) ? client : undefined;
}

function metadataOf({ name, redirectUri }: ClientIdentity): OAuthClientMetadata {
  return {
    client_name: name,
    redirect_uris: [redirectUri],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  };
}

/** The client ID metadata document: its address is the id of this server as a client. */
export function metadataDocument(identity: ClientIdentity, address: string, home: string): object {
  return { client_id: address, client_uri: home, application_type: 'web', ...metadataOf(identity) };
}
