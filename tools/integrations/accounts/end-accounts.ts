import type { IntegrationAccountRecord } from '../../../resources/integration-account.ts';
import type { Where, Writer, Writers } from '../../../store/port.ts';

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
