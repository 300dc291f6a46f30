import { createHash, randomBytes } from 'node:crypto';
import type {
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client';
import type { IntegrationAccountRecord, IntegrationLinkRecord } from '../../../resources/integration-account.ts';
import type { SecretBox } from '../../core/sealing/secrets.ts';

/** This server as the provider knows it. It registers again if the redirect address has changed. */
export interface KnownClient {
  readonly information: StoredOAuthClientInformation;
  readonly redirectUri: string;
  /** An operator gave its id, and may have taken it away since. */
  readonly isGiven?: boolean;
}

export interface AccountSecrets {
  readonly client: KnownClient;
  readonly tokens: StoredOAuthTokens;
  /** When the access token ends, where its provider says so. */
  readonly until?: string | undefined;
  /** Where the tokens came from. They are sent nowhere else. */
  readonly discovery: OAuthDiscoveryState;
}

export interface FlowSecrets {
  readonly client: KnownClient;
  readonly verifier: string;
  readonly discovery: OAuthDiscoveryState;
}

export function sealAccount(box: SecretBox, key: string, secrets: AccountSecrets): string {
  return box.seal(JSON.stringify(secrets), accountSecretContext(key));
}

export function openAccount(box: SecretBox, { key, sealed }: IntegrationAccountRecord): AccountSecrets {
  return JSON.parse(box.open(sealed, accountSecretContext(key))) as AccountSecrets; // what sealAccount sealed
}

export function sealFlow(box: SecretBox, id: string, secrets: FlowSecrets): string {
  return box.seal(JSON.stringify(secrets), linkSecretContext(id));
}

export function openFlow(box: SecretBox, { id, sealed = '' }: IntegrationLinkRecord): FlowSecrets {
  return JSON.parse(box.open(sealed, linkSecretContext(id))) as FlowSecrets; // what sealFlow sealed
}

/** The account of the person, or the shared one. */
export function accountKey(integrationId: string, userId: string | undefined): string {
  return `${integrationId} ${userId ?? 'shared'}`;
}

export function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

export function hashOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

export function accountSecretContext(key: string): string {
  return `${key} account`;
}

export function linkSecretContext(id: string): string {
  return `${id} flow`;
}
