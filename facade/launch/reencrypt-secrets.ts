import type { IntegrationRecord } from '../../resources/integration.ts';
import { pagesOf } from '../../store/pages.ts';
import type { Change, Reader, Store, Transaction, Writer } from '../../store/port.ts';
import { reencryptedConnection } from '../../tools/connections/connection-secrets.ts';
import { approvalPlace } from '../../tools/core/registry/approvals.ts';
import type { SecretBox } from '../../tools/core/sealing/secrets.ts';
import { flowSecretContext } from '../../tools/flows/webhook-secret.ts';
import { accountSecretContext, linkSecretContext } from '../../tools/integrations/accounts/account-secrets.ts';
import { clientSecretContext } from '../../tools/integrations/accounts/authorize-account.ts';
import { secretContext } from '../../tools/integrations/upstream/upstreams.ts';
import { reencryptedProvider } from '../../tools/model-providers/secrets.ts';
import { reencryptedSecrets } from '../../tools/webhooks/secrets.ts';

const BATCH = 100;

/** Seals with the first key what an earlier one sealed. Returns how many records that were, so that the operator knows when earlier keys can go. */
export async function reencryptSecrets(store: Store, box: SecretBox): Promise<number> {
  const counts = [
    await renewAll(store, store.integrations, {
      within: (tx) => tx.integrations,
      change: (record) => reencryptedIntegration(record, box),
    }),
    await renewAll(store, store.integrationAccounts, {
      within: (tx) => tx.integrationAccounts,
      change: ({ key, sealed }) => reencrypted(box, sealed, accountSecretContext(key)),
    }),
    await renewAll(store, store.integrationLinks, {
      within: (tx) => tx.integrationLinks,
      change: ({ id, sealed }) => reencrypted(box, sealed, linkSecretContext(id)),
    }),
    await renewAll(store, store.modelProviders, {
      within: (tx) => tx.modelProviders,
      change: (record) => reencryptedProvider(record, box),
    }),
    await renewAll(store, store.webhooks, {
      within: (tx) => tx.webhooks,
      change: (record) => reencryptedSecrets(record, box),
    }),
    await renewAll(store, store.connections, {
      within: (tx) => tx.connections,
      change: (record) => reencryptedConnection(record, box),
    }),
    await renewAll(store, store.approvals, {
      within: (tx) => tx.approvals,
      change: ({ id, sealed }) => reencrypted(box, sealed, approvalPlace(id)),
    }),
    await renewAll(store, store.flowSecrets, {
      within: (tx) => tx.flowSecrets,
      change: ({ id, sealed }) => reencrypted(box, sealed, flowSecretContext(id)),
    }),
  ];
  return counts.reduce((sum, count) => sum + count);
}

interface Renewal<Record> {
  within(tx: Transaction): Writer<Record>;
  change(record: Record): Change<Record> | undefined;
}

async function renewAll<Record extends { readonly id: string }>(
  store: Store,
  collection: Reader<Record>,
  { within, change }: Renewal<Record>,
): Promise<number> {
  let count = 0;
  for await (const page of pagesOf(collection, { order: 'oldest', limit: BATCH })) {
    for (const { id } of page.filter(change)) {
      await store.transaction(async (tx) => {
        const now = await within(tx).get(id);
        const renewed = now && change(now);
        if (renewed) await within(tx).touch(id, renewed);
      });
      count += 1;
    }
  }
  return count;
}

function reencrypted(box: SecretBox, before: string | undefined, place: string): { sealed: string } | undefined {
  const sealed = before && box.renew(before, place);
  return sealed ? { sealed } : undefined;
}

function reencryptedIntegration(record: IntegrationRecord, box: SecretBox): Change<IntegrationRecord> | undefined {
  const { id, oauth } = record;
  const change: { -readonly [Name in 'env' | 'headers' | 'oauth']?: IntegrationRecord[Name] } = {};
  for (const member of ['env', 'headers'] as const) {
    const before = Object.entries(record[member] ?? {});
    const renewed = before.map(
      ([name, text]) => [name, box.renew(text, secretContext(id, member, name)) ?? text] as const,
    );
    if (renewed.some(([, text], at) => text !== before[at]?.[1])) change[member] = Object.fromEntries(renewed);
  }
  const clientSecret = oauth?.clientSecret && box.renew(oauth.clientSecret, clientSecretContext(id));
  if (clientSecret) change.oauth = { ...oauth, clientSecret };
  return Object.keys(change).length > 0 ? change : undefined;
}
