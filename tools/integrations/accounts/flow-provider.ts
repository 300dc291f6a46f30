import type {
  OAuthClientMetadata,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client';
import { type FlowSecrets, type KnownClient, newSecret } from './account-secrets.ts';

/** How this server introduces itself to providers. */
export interface ClientIdentity {
  readonly name: string;
  readonly redirectUri: string;
  /** The address of the metadata document. Undefined if providers could not fetch it, because it is not https. */
  readonly metadataUrl: string | undefined;
}

interface AuthorizationInput {
  /** The client that an operator gave. None is registered in its place. */
  readonly given: KnownClient | undefined;
  /** The client of the account so far. */
  readonly known?: KnownClient | undefined;
  readonly scopes?: readonly string[];
}

/** One flow that connects an account: what the SDK's client asks for and finds out on the way. */
export class FlowProvider implements OAuthClientProvider {
  readonly stateText = newSecret();
  /** Where the person has to go. Set by the SDK. */
  authorizationUrl: URL | undefined;
  received: StoredOAuthTokens | undefined;
  saveClientInformation?: (information: StoredOAuthClientInformation) => void;
  readonly clientMetadataUrl?: string;
  readonly #identity: ClientIdentity;
  readonly #isGiven: boolean;
  #client: StoredOAuthClientInformation | undefined;
  #verifier = '';
  #discovery: OAuthDiscoveryState | undefined;

  constructor(identity: ClientIdentity, { given, known, scopes = [] }: AuthorizationInput, kept?: FlowSecrets) {
    this.#identity = identity;
    this.#isGiven = given !== undefined;
    this.#client = (kept?.client ?? given ?? usable(known, identity, scopes))?.information;
    this.#verifier = kept?.verifier ?? '';
    this.#discovery = kept?.discovery;
    if (identity.metadataUrl !== undefined) this.clientMetadataUrl = identity.metadataUrl;
    if (given) return;
    this.saveClientInformation = (information) => {
      this.#client = information;
    };
  }

  get redirectUrl(): string {
    return this.#identity.redirectUri;
  }

  get clientMetadata(): OAuthClientMetadata {
    return metadataOf(this.#identity);
  }

  /** What the second half of the flow needs. */
  get secrets(): FlowSecrets {
    if (!this.#client || !this.#discovery) throw new Error('The flow has not begun.');
    return { client: this.#known(this.#client), verifier: this.#verifier, discovery: this.#discovery };
  }

  state(): string {
    return this.stateText;
  }

  clientInformation(): StoredOAuthClientInformation | undefined {
    return this.#client;
  }

  /** None: each flow begins anew, whatever an account has. */
  tokens(): undefined {
    return undefined;
  }

  saveTokens(tokens: StoredOAuthTokens): void {
    this.received = tokens;
  }

  redirectToAuthorization(url: URL): void {
    this.authorizationUrl = url;
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }

  codeVerifier(): string {
    return this.#verifier;
  }

  saveDiscoveryState(state: OAuthDiscoveryState): void {
    this.#discovery = state;
  }

  discoveryState(): OAuthDiscoveryState | undefined {
    return this.#discovery;
  }

  invalidateCredentials(what: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery'): void {
    if ((what === 'client' || what === 'all') && this.saveClientInformation) this.#client = undefined;
  }

  #known(information: StoredOAuthClientInformation): KnownClient {
    return { information, redirectUri: this.#identity.redirectUri, ...(this.#isGiven && { isGiven: true }) };
  }
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

/** The members that a metadata document and a registration have in common. */
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
