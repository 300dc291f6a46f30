import type { IntegrationRecord } from '../../../resources/integration.ts';
import type { IntegrationAccountRecord, IntegrationLinkRecord } from '../../../resources/integration-account.ts';
import type { Readers, Where, Writer, Writers } from '../../../store/port.ts';
import { isPerPerson, takesAccounts } from '../auth-mode.ts';
import { hashOf, newSecret } from './account-secrets.ts';

export const CONNECT_PATH = '/integrations/connect';
export const CALLBACK_PATH = '/integrations/callback';
export const CLIENT_PATH = '/oauth/client.json';

/** How long a link waits to be opened, and after that for the provider. */
export const LINK_MS = 10 * 60_000;
/** The links of one person to one integration that work at a time. */
const MOST_LINKS = 5;

export interface NewLink {
  readonly userId: string;
  readonly scopes?: readonly string[] | undefined;
}

/** Makes a link for the person. Where there are too many, the oldest one ends. */
export async function insertLink(
  { integrationLinks: links }: Pick<Writers, 'integrationLinks'>,
  integration: IntegrationRecord,
  { link: { userId, scopes }, baseUrl, now }: { readonly link: NewLink; readonly baseUrl: string; readonly now: Date },
): Promise<{ url: string; expiresAt: string }> {
  const where = { integrationId: integration.id, userId };
  const { records } = await links.find({ where, order: 'newest', limit: 100 });
  for (const { id } of records.slice(MOST_LINKS - 1)) await links.delete(id);
  const secret = newSecret();
  const expiresAt = new Date(now.getTime() + LINK_MS).toISOString();
  await links.insert({
    hash: hashOf(secret),
    ...where,
    shared: !isPerPerson(integration),
    ...(scopes && { scopes: [...scopes] }),
    expiresAt,
  });
  return { url: `${baseUrl}${CONNECT_PATH}?link=${secret}`, expiresAt };
}

/** The link, while it waits to be opened, or for its provider where `by` says so. */
export async function findLink(
  { integrationLinks }: Pick<Readers, 'integrationLinks'>,
  secret: string,
  { by, now }: { readonly by: 'hash' | 'stateHash'; readonly now: Date },
): Promise<IntegrationLinkRecord | undefined> {
  const link = await integrationLinks.first({ where: { [by]: hashOf(secret) } });
  if (!link || Date.parse(link.expiresAt) <= now.getTime()) return undefined;
  return (by === 'hash') === (link.stateHash === undefined) ? link : undefined;
}

export function isAccepted(integration: IntegrationRecord | undefined, { shared }: IntegrationLinkRecord): boolean {
  return integration !== undefined && takesAccounts(integration) && isPerPerson(integration) !== shared;
}

type AccountWriters = Pick<Writers, 'integrationAccounts' | 'integrationLinks'>;

/** Deletes the accounts of an integration or of a person, with the links that could connect new ones. Returns them. */
export async function endAccountsOf(
  { integrationAccounts, integrationLinks }: AccountWriters,
  where: { readonly integrationId: string } | { readonly userId: string },
): Promise<IntegrationAccountRecord[]> {
  await deleteAll(integrationLinks, where);
  return deleteAll(integrationAccounts, where);
}

async function deleteAll<Record extends { readonly id: string }>(
  records: Pick<Writer<Record>, 'find' | 'delete'>,
  where: Where<Record>,
): Promise<Record[]> {
  const ended: Record[] = [];
  for (;;) {
    const page = await records.find({ where, limit: 100 });
    for (const record of page.records) {
      await records.delete(record.id);
      ended.push(record);
    }
    if (page.records.length === 0) return ended;
  }
}
