import type { Store } from '../../store/port.ts';
import { hashSecret, newSecret, prefixOf } from '../../tools/core/access/key-secret.ts';
import { writing } from './writing.ts';

/** The secret of a key with full access of a person of their own, who has to do with nobody else. */
export async function keyOfSomebody(store: Store, name: string): Promise<string> {
  const secret = newSecret('key');
  const { adminUsers, apiKeys } = writing(store);
  const { id: ownerId } = await adminUsers.insert({ email: `${name}@example.com`, role: 'admin', isActive: true });
  const proof = { prefix: prefixOf('key', secret) ?? '', hash: hashSecret(secret) };
  await apiKeys.insert({ name, ...proof, scopes: ['admin'], ownerId, createdBy: ownerId });
  return secret;
}
