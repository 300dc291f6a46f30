import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { describe, it } from 'node:test';
import type { Store } from '../../../store/port.ts';
import { pluck } from '../../support/pluck.ts';
import { startTestServer } from '../../support/server.ts';

describe('accounts at integrations', () => {
  it('of people who were deactivated or removed while the server was down end with its start, and no others', async () => {
    const server = await startTestServer({}, { fill });
    const left = (await server.store.integrationAccounts.find({ limit: 100 })).records;
    assert.deepEqual(left.map(({ userId }) => userId).sort(), ['usr_active', undefined]);
    assert.deepEqual(pluck((await server.store.integrationLinks.find({ limit: 100 })).records, 'userId'), [
      'usr_active',
    ]);
  });
});

/** People who are active, deactivated and gone, with accounts and links, and an account that all share. */
async function fill(store: Store): Promise<void> {
  await store.transaction(async (tx) => {
    await tx.adminUsers.insert({ id: 'usr_active', email: 'a@example.com', role: 'member', isActive: true });
    await tx.adminUsers.insert({ id: 'usr_gone', email: 'g@example.com', role: 'member', isActive: false });
    for (const userId of ['usr_active', 'usr_gone', 'usr_removed', undefined]) {
      const whose = { integrationId: 'int_one', ...(userId !== undefined && { userId }) };
      const account = { ...whose, key: `int_one ${userId}`, scopes: [], sealed: '', status: 'connected' as const };
      await tx.integrationAccounts.insert({ ...account, connectedAt: new Date().toISOString() });
      if (userId === undefined) continue;
      const link = { hash: hash('sha256', userId), integrationId: 'int_one', userId, shared: false };
      await tx.integrationLinks.insert({ ...link, expiresAt: '2100-01-01T00:00:00.000Z' });
    }
  });
}
