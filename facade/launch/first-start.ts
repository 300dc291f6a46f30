import { OperatorError } from '../../store/errors.ts';
import type { Store } from '../../store/port.ts';
import { firstOf } from '../../store/record-change.ts';
import { hashSecret, newSecret, prefixOf } from '../../tools/core/access/key-secret.ts';
import { filteredReader } from '../../tools/core/registry/paging.ts';
import type { Config } from '../config/config.ts';
import { howToRun, stdioProgram } from '../config/how-to-run.ts';

export interface FirstStart {
  readonly made?: FirstKeys;
  readonly warning?: string;
}

interface FirstKeys {
  readonly admin: string;
  /** The operator gave the admin key, so it is not shown. */
  readonly adminIsGiven: boolean;
  /** For the client whose configuration is printed. It can read and write, but not administer. */
  readonly client: string;
}

/** Makes the owner, one admin key and one key for a client, if the store is empty. Changes nothing otherwise. */
export async function prepareStore(
  store: Store,
  config: Pick<Config, 'adminEmail' | 'bootstrapKey'>,
): Promise<FirstStart> {
  if ((await store.adminUsers.count({})) > 0) return checkBootstrapKey(store, config.bootstrapKey);
  const admin = config.bootstrapKey ?? newSecret('key');
  const client = newSecret('key');
  await store.transaction(async (tx) => {
    const owner = await tx.adminUsers.insert({ email: config.adminEmail.toLowerCase(), role: 'owner', isActive: true });
    await tx.apiKeys.insert(keyOf(owner.id, { secret: client, name: 'Claude Desktop', scopes: ['read', 'write'] }));
    await tx.apiKeys.insert(keyOf(owner.id, { secret: admin, name: 'bootstrap', scopes: ['admin'] }));
  });
  return { made: { admin, adminIsGiven: config.bootstrapKey !== undefined, client } };
}

/** Makes an admin key for the first active owner, when all others are lost. Returns its secret. */
export async function recoverKey(store: Store): Promise<string> {
  // One of them always has no limit.
  const unlimited = filteredReader(store.adminUsers, ({ access }) => !access);
  const owner = await firstOf(unlimited, { where: { role: 'owner', isActive: true }, order: 'oldest' });
  if (!owner) throw new OperatorError('The store has no active owner; start the server once on it first.');
  const secret = newSecret('key');
  await store.transaction((tx) => tx.apiKeys.insert(keyOf(owner.id, { secret, name: 'recovered', scopes: ['admin'] })));
  return secret;
}

async function checkBootstrapKey(store: Store, bootstrapKey: string | undefined): Promise<FirstStart> {
  if (bootstrapKey === undefined) return {};
  const key = await store.apiKeys.first({ where: { prefix: prefixOf('key', bootstrapKey) ?? '' } });
  if (key?.hash === hashSecret(bootstrapKey)) return {};
  const warning = `BOOTSTRAP_API_KEY is not a key of this store and is ignored: it counts at the first start only. \`${howToRun('recover-key')}\` makes a new admin key.`;
  return { warning };
}

interface NewKey {
  readonly secret: string;
  readonly name: string;
  readonly scopes: string[];
}

function keyOf(ownerId: string, { secret, name, scopes }: NewKey) {
  const hash = hashSecret(secret);
  return { name, prefix: prefixOf('key', secret) ?? '', hash, scopes, ownerId, createdBy: ownerId };
}

interface Welcome {
  readonly baseUrl: string;
  readonly keys: FirstKeys;
  readonly email: string;
  readonly signInUrl: string;
}

/** The text of the first start. Everything in it works as pasted. A key that the operator gave is not repeated. */
export function welcome({ baseUrl, keys, email, signInUrl }: Welcome): string {
  const key = keys.adminIsGiven ? '$BOOTSTRAP_API_KEY' : keys.admin;
  return `
This is the first start on an empty store. ${keys.adminIsGiven ? GIVEN : `An admin key was made; it is shown this once:\n\n  ${key}`}

Try it:

  curl -H "Authorization: Bearer ${key}" ${baseUrl}/api/v1/agents

Sign in as the owner, once and within 10 minutes:

  ${signInUrl}

Another link, later:

  API_KEY="${key}" BASE_URL=${baseUrl} ${howToRun('tool')} create_sign_in_link '${JSON.stringify({ email }).replaceAll("'", "'\\''")}'

Claude Desktop (claude_desktop_config.json). The key in it was made for this client and is shown this once: it reads and writes, and
administers nothing. Many hosts show a model no more than 128 tools: MODE=search lists only three, through which all others are
found and called. Remove it if your client has no limit.

${JSON.stringify(clientBlock(baseUrl, keys.client), null, 2)}
`;
}

const GIVEN = 'The admin key is the one in BOOTSTRAP_API_KEY.';

function clientBlock(baseUrl: string, key: string) {
  const env = { BASE_URL: baseUrl, API_KEY: key, MODE: 'search' };
  return { mcpServers: { 'agent-admin': { ...stdioProgram(), env } } };
}
