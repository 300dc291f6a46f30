import { z } from 'zod';
import { type ApiKey, type ApiKeyRecord, apiKey, apiKeyFields } from '../resources/api-key.ts';
import { askFirstWarning } from '../resources/approval.ts';
import { instant, pageOf, paging, plainLine, recordId, sortBy, time } from '../resources/fields.ts';
import { refTo } from '../resources/markers.ts';
import type { Readers } from '../store/port.ts';
import { askFirstWarnings } from './core/access/ask-first.ts';
import { readRights } from './core/access/assignable.ts';
import { budgetSubjectsIn, keySubject, madeBy } from './core/access/budgets.ts';
import { keyCredential, keyRights, requireCredential } from './core/access/credential.ts';
import { requireWithinRights } from './core/access/delegation.ts';
import { endMadeWith } from './core/access/end-credentials.ts';
import { hashSecret, newSecret, prefixOf } from './core/access/key-secret.ts';
import { hasRight, isOwn, listFilter } from './core/access/ownership.ts';
import { endsWithKey, type Principal } from './core/access/principal.ts';
import { CREATES, DELETES, defineTool, type Fail, READS } from './core/registry/define-tool.ts';
import { filteredReader, listPage } from './core/registry/paging.ts';
import { futureInstant } from './core/registry/validate.ts';

export function showKey(record: ApiKeyRecord): ApiKey {
  const { hash: _, replaced = [], replacedPrefixes: __, budgetSubjects: ___, ...shown } = record;
  const earlierSecrets = replaced.map(({ prefix, until }) => ({ prefix, until }));
  return { ...shown, ...(earlierSecrets.length > 0 && { earlierSecrets }) };
}

const keyId = refTo('key', recordId).describe('Key id (`key_…`), see list_api_keys.');
const keyWithSecret = apiKey.extend({ secret: z.string().describe('Keep it: it cannot be shown again.') });

const madeKey = keyWithSecret.extend({ warnings: askFirstWarning });

const keyState = z.enum(['active', 'expired', 'revoked']);

export function stateOf({ revokedAt, expiresAt }: ApiKeyRecord, now: Date): z.infer<typeof keyState> {
  if (revokedAt !== undefined) return 'revoked';
  return expiresAt !== undefined && Date.parse(expiresAt) <= now.getTime() ? 'expired' : 'active';
}

const listApiKeys = defineTool({
  name: 'list_api_keys',
  title: 'List API keys',
  description:
    'List API keys, revoked ones too, newest first, with scopes, grants and last use; by owner or state. Secrets are never shown. Without admin rights: your own.',
  keywords:
    'tokens of scripts, credentials, secrets in use, personal access tokens, which tokens exist, who has API keys',
  access: { scope: 'admin', grant: 'key:read', narrows: true },
  annotations: READS,
  own: true,
  input: z.strictObject({
    ownerId: refTo('admin-user', recordId).optional().describe('Admin user the keys act for.'),
    state: keyState.optional(),
    ...sortBy('name'),
    ...paging,
  }),
  output: pageOf(apiKey),
  errors: [],

  handler({ ownerId, state, ...page }, { store, principal, server }) {
    const any = listFilter<ApiKeyRecord>(principal, 'key', { ownerId: principal.ownerId });
    const now = server.now();
    const keys = state ? filteredReader(store.apiKeys, (key) => stateOf(key, now) === state) : store.apiKeys;
    return listPage(keys, page, { where: { ownerId }, any, filter: { state } }, showKey);
  },
});

const createApiKey = defineTool({
  name: 'create_api_key',
  title: 'Create API key',
  description: 'Create an API key with rights within your own. Returns the key and, this once, its `secret`.',
  keywords:
    'new token, REST credentials, secret for a script or CI, personal access token, service account, programmatic access, bearer, token for a script, access for CI, make an API token, read-only token',
  access: { scope: 'admin', grant: 'key:write' },
  annotations: CREATES,
  own: true,
  answersSecret: true,
  input: z.strictObject({
    name: plainLine(apiKeyFields.name),
    scopes: apiKeyFields.scopes.describe('read, write, admin, or finer ones such as agents:read.'),
    grants: apiKeyFields.grants
      .optional()
      .describe('`<resource>:<op>:<id>`, op and id optional, e.g. agent:read. If given, they alone decide.'),
    expiresAt: time.optional(),
    askFirst: apiKeyFields.askFirst.optional(),
  }),
  output: madeKey,
  errors: [],

  async authorize({ scopes, grants: texts, expiresAt, askFirst }, { store, principal, server: { catalog } }) {
    const grants = readRights({ scopes, grants: texts }, catalog);
    const lifetime = { expiresAt: expiresAt && instant(expiresAt) };
    await requireCredential(
      { store, principal },
      { way: 'make', rights: { scopes, grants, catalog, lifetime, askFirst } },
    );
  },

  async handler({ name, scopes, grants: texts, expiresAt: until, askFirst }, { store, principal, server }) {
    const expiresAt = until && futureInstant(until, server.now());
    const secret = newSecret('key');
    const record = await store.apiKeys.insert({
      name,
      prefix: prefixOf('key', secret) ?? '',
      hash: hashSecret(secret),
      scopes,
      ...(texts?.length && { grants: texts }),
      ...(askFirst?.length && { askFirst }),
      ...(expiresAt && { expiresAt }),
      ownerId: principal.ownerId,
      createdBy: principal.id,
      budgetSubjects: budgetSubjectsIn(principal),
      ...endsWithKey(principal),
    });
    const warnings = askFirstWarnings(askFirst, server.catalog);
    return { ...showKey(record), secret, ...(warnings.length > 0 && { warnings }) };
  },
});

const revokeApiKey = defineTool({
  name: 'revoke_api_key',
  title: 'Revoke API key',
  description:
    'Revoke an API key for good, from the next request on: your own, or one whose rights are within yours. Sessions begun with its links end, and keys made with it if it was to expire; with earlierOnly, only secrets that a rotation replaced. Returns the key.',
  keywords:
    'kill a leaked token, disable a key, invalidate a secret, delete an API key, compromised credential, token leaked, kill a token, delete a key',
  access: { scope: 'admin', grant: 'key:write:{id}' },
  annotations: DELETES,
  own: true,
  input: z.strictObject({
    id: keyId,
    earlierOnly: z.boolean().default(false).describe('Ends the secrets that a rotation replaced; the key stays.'),
  }),
  output: apiKey,
  errors: ['not_found'],

  async authorize({ id }, { store, principal, server }) {
    const key = await writableKey(store, principal, id);
    if (key) requireWithinRights(principal, keyRights(principal, key, server.catalog));
  },

  async handler({ id, earlierOnly }, { store, principal, server, fail }) {
    const key = await findWritable(store, principal, id, fail);
    if (key.revokedAt !== undefined) return showKey(key);
    if (earlierOnly) return showKey(await store.apiKeys.update(id, { replaced: [], replacedPrefixes: [] }));
    const revokedAt = server.now().toISOString();
    await endMadeWith(store, key, revokedAt);
    return showKey(await store.apiKeys.update(id, { revokedAt }));
  },
});

const rotateApiKey = defineTool({
  name: 'rotate_api_key',
  title: 'Rotate API key',
  description:
    'Give an API key of your own a new secret, returned this once. The old one stops at once, or after graceSeconds. Rights, owner and history stay. Somebody else’s: take_over.',
  keywords:
    'new secret, replace a token without downtime, renew credentials, regenerate, change the secret of a key, key expires soon',
  access: { scope: 'admin', grant: 'key:write:{id}' },
  annotations: { ...DELETES, idempotentHint: false },
  own: true,
  answersSecret: true,
  input: z.strictObject({
    id: keyId,
    graceSeconds: z.int().min(0).max(604_800).default(0).describe('How long the old secret still works.'),
  }),
  output: keyWithSecret,
  errors: ['not_found', 'conflict'],

  async authorize({ id }, { store, principal, server }) {
    const key = await writableKey(store, principal, id);
    if (!key) return;
    const credential = keyCredential(principal, key, server.catalog);
    await requireCredential({ store, principal }, { way: 'rotate', ...credential });
  },

  async handler({ id, graceSeconds }, { store, principal, server, fail }) {
    const key = await findWritable(store, principal, id, fail);
    const now = server.now();
    const state = stateOf(key, now);
    if (state !== 'active') throw fail('conflict', `This key is ${state}; make a new one with create_api_key.`);
    const { secret, members } = nextSecret(key, now, graceSeconds);
    const bond = await endsWithKeyFor(store, key, principal);
    const rotated = await store.apiKeys.update(id, {
      ...members,
      ...bond,
      budgetSubjects: subjectsWith(key, principal),
    });
    return { ...showKey(rotated), secret };
  },
});

export const apiKeyTools = [listApiKeys, createApiKey, revokeApiKey, rotateApiKey];

/** The key, where the caller may write it or it is its own. */
async function writableKey(
  { apiKeys }: Pick<Readers, 'apiKeys'>,
  principal: Principal,
  id: string,
): Promise<ApiKeyRecord | undefined> {
  const key = await apiKeys.get(id);
  return key && (isOwn(principal, key.ownerId) || hasRight(principal, 'key', 'write', id)) ? key : undefined;
}

/** The same. @throws ToolError (not_found) */
async function findWritable(
  store: Pick<Readers, 'apiKeys'>,
  principal: Principal,
  id: string,
  fail: Fail<'not_found'>,
): Promise<ApiKeyRecord> {
  const key = await writableKey(store, principal, id);
  if (key) return key;
  throw fail('not_found', `There is no API key ${id}; list_api_keys shows the ones you can see.`);
}

/** The caller who rotates it can use it from now on; its creator does not change. */
function subjectsWith(key: ApiKeyRecord, principal: Principal): string[] {
  const subjects = new Set([...madeBy(key), ...budgetSubjectsIn(principal)]);
  subjects.delete(keySubject(key.id));
  return [...subjects];
}

const MOST_IN_GRACE = 5;

/** A new secret for the key. The earlier ones work until their time; a rotation without grace ends all of them. */
export function nextSecret(key: ApiKeyRecord, now: Date, graceSeconds: number) {
  const until = new Date(now.getTime() + graceSeconds * 1000).toISOString();
  const good = (key.replaced ?? []).filter((earlier) => Date.parse(earlier.until) > now.getTime());
  const replaced =
    graceSeconds === 0 ? [] : [...good, { prefix: key.prefix, hash: key.hash, until }].slice(-MOST_IN_GRACE);
  const secret = newSecret('key');
  const members = {
    prefix: prefixOf('key', secret) ?? '',
    hash: hashSecret(secret),
    replaced,
    replacedPrefixes: replaced.map(({ prefix }) => prefix),
    rotatedAt: now.toISOString(),
  };
  return { secret, members };
}

/** The new secret ends with the expiring key that asked for it, unless that key itself ends with this one. */
export async function endsWithKeyFor(
  { apiKeys }: Pick<Readers, 'apiKeys'>,
  key: ApiKeyRecord,
  principal: Principal,
): Promise<{ readonly endsWith?: string }> {
  const bond = endsWithKey(principal);
  for (let id = bond.endsWith; id !== undefined; id = (await apiKeys.get(id))?.endsWith) if (id === key.id) return {};
  return bond;
}
