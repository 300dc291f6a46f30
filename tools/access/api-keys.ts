import { z } from 'zod';
import { type ApiKey, type ApiKeyRecord, apiKey, apiKeyFields } from '../../resources/api-key.ts';
import type { Issue } from '../../resources/error.ts';
import { instant, pageOf, paging, plainLine, recordId, time } from '../../resources/fields.ts';
import { refTo } from '../../resources/markers.ts';
import { type Catalog, nearest } from '../registry/catalog-index.ts';
import { CREATES, DELETES, defineTool, READS } from '../registry/define-tool.ts';
import { ToolError } from '../registry/errors.ts';
import { listPage, lookedAt, onlyThese } from '../registry/paging.ts';
import { assignableScopes, grantNames } from './assignable.ts';
import { requireWithin } from './delegation.ts';
import { endMadeWith } from './ended-credentials.ts';
import { type Grant, parseGrant, unknownName } from './grants.ts';
import { grantsOf } from './key-principal.ts';
import { hashSecret, newSecret, prefixOf } from './key-secret.ts';
import { bondOf } from './principal.ts';

export function showKey({ hash: _, ...shown }: ApiKeyRecord): ApiKey {
  return shown;
}

const keyState = z.enum(['active', 'expired', 'revoked']);

function stateOf({ revokedAt, expiresAt }: ApiKeyRecord, now: Date): z.infer<typeof keyState> {
  if (revokedAt !== undefined) return 'revoked';
  return expiresAt !== undefined && Date.parse(expiresAt) <= now.getTime() ? 'expired' : 'active';
}

const listApiKeys = defineTool({
  name: 'list_api_keys',
  title: 'List API keys',
  description:
    'List API keys, revoked ones too, newest first, with scopes, grants and last use; by owner or state. Secrets are never shown.',
  access: { scope: 'admin', grant: 'key:read', narrows: true },
  annotations: READS,
  input: z.strictObject({
    ownerId: refTo('admin-user', recordId).optional().describe('Admin user the keys act for.'),
    state: keyState.optional(),
    ...paging,
  }),
  output: pageOf(apiKey),
  errors: [],

  handler({ ownerId, state, ...page }, { store, principal, server }) {
    const any = onlyThese<ApiKeyRecord>(principal.rights.limitedTo('key', 'read'), 'id');
    const now = server.now();
    const keys = state ? lookedAt(store.apiKeys, (key) => stateOf(key, now) === state) : store.apiKeys;
    return listPage(keys, page, { where: { ownerId }, any, filter: { state } }, showKey);
  },
});

const createApiKey = defineTool({
  name: 'create_api_key',
  title: 'Create API key',
  description: 'Create an API key with rights within your own. Returns the key and, this once, its `secret`.',
  access: { scope: 'admin', grant: 'key:write' },
  annotations: CREATES,
  answersSecret: true,
  input: z.strictObject({
    name: plainLine(apiKeyFields.name),
    scopes: apiKeyFields.scopes.describe('read, write, admin, or finer ones such as agents:read.'),
    grants: apiKeyFields.grants
      .optional()
      .describe('`<resource>:<op>:<id>`, op and id optional, e.g. agent:read. If given, they alone decide.'),
    expiresAt: time.optional(),
  }),
  output: apiKey.extend({ secret: z.string().describe('Keep it: it cannot be shown again.') }),
  errors: [],

  async handler({ name, scopes, grants: texts, expiresAt: until }, { store, principal, server, fail }) {
    const expiresAt = until && instant(until);
    const grants = readRights(scopes, texts ?? [], server.catalog);
    if (expiresAt && Date.parse(expiresAt) <= server.now().getTime()) {
      const message = 'expiresAt is in the past; give a later time or leave it out.';
      throw fail('invalid_input', message, { issues: [{ path: 'expiresAt', message }] });
    }
    requireWithin(principal, { scopes, grants, lifetime: { expiresAt } });
    const secret = newSecret('key');
    const record = await store.apiKeys.insert({
      name,
      prefix: prefixOf('key', secret) ?? '',
      hash: hashSecret(secret),
      scopes,
      ...(texts?.length && { grants: texts }),
      ...(expiresAt && { expiresAt }),
      ownerId: principal.ownerId,
      createdBy: principal.id,
      ...bondOf(principal),
    });
    return { ...showKey(record), secret };
  },
});

const revokeApiKey = defineTool({
  name: 'revoke_api_key',
  title: 'Revoke API key',
  description:
    'Revoke an API key for good, from the next request on: your own, or one whose rights are within yours. Sessions begun with its links end, and keys made with it if it was to expire. Returns the key.',
  access: { scope: 'admin', grant: 'key:write:{id}' },
  annotations: DELETES,
  input: z.strictObject({ id: refTo('key', recordId).describe('Key id (`key_…`), see list_api_keys.') }),
  output: apiKey,
  errors: ['not_found'],

  async handler({ id }, { store, principal, server }) {
    const key = await store.apiKeys.read(id);
    if (key.id !== principal.id) requireWithin(principal, { scopes: key.scopes, grants: grantsOf(key) });
    if (key.revokedAt !== undefined) return showKey(key);
    const revokedAt = server.now().toISOString();
    await endMadeWith(store, key, revokedAt);
    return showKey(await store.apiKeys.update(id, { revokedAt }));
  },
});

export const apiKeyTools = [listApiKeys, createApiKey, revokeApiKey];

/** The parsed grants. @throws ToolError that names every scope and grant that the key cannot have. */
function readRights(scopes: readonly string[], texts: readonly string[], catalog: Catalog): Grant[] {
  const issues: Issue[] = [];
  const [assignable, names] = [assignableScopes(catalog), grantNames(catalog)];
  for (const [index, scope] of scopes.entries()) {
    if (!assignable.includes(scope))
      issues.push({ path: `scopes[${index}]`, message: unknownScope(scope, assignable) });
  }
  const grants: Grant[] = [];
  for (const [index, text] of texts.entries()) {
    const parsed = parseGrant(text);
    const message = parsed.ok ? unknownName(parsed.grant, names) : parsed.message;
    if (message !== undefined) issues.push({ path: `grants[${index}]`, message });
    else if (parsed.ok) grants.push(parsed.grant);
  }
  if (scopes.length === 0 && texts.length === 0) {
    issues.push({ path: 'scopes', message: 'A key without scopes and grants opens nothing; give at least one.' });
  }
  if (issues[0]) throw new ToolError('invalid_input', `${issues[0].path}: ${issues[0].message}`, { issues });
  return grants;
}

function unknownScope(scope: string, assignable: readonly string[]): string {
  if (scope === '*') return '"*" is for sessions alone; give admin for full access.';
  const close = nearest(scope, assignable, 3);
  return `There is no scope of this name; ${close.length > 0 ? `did you mean ${close.join(' or ')}` : `allowed: ${assignable.join(', ')}`}.`;
}
