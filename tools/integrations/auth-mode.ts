import type { IntegrationAuth, IntegrationRecord } from '../../resources/integration.ts';

type Authenticated = Pick<IntegrationRecord, 'transport' | 'headers' | 'auth'>;

/** How the server of the integration knows who calls. Undefined for a program. */
export function authOf({ transport, headers, auth }: Authenticated): IntegrationAuth | undefined {
  if (transport === 'stdio') return undefined;
  return auth ?? (Object.keys(headers ?? {}).length > 0 ? 'headers' : 'none');
}

export function takesAccounts(record: Authenticated): boolean {
  return isOAuth(authOf(record));
}

export function isPerPerson(record: Authenticated): boolean {
  return authOf(record) === 'oauth-per-person';
}

export function isOAuth(auth: IntegrationAuth | null | undefined): boolean {
  return auth === 'oauth-shared' || auth === 'oauth-per-person';
}
