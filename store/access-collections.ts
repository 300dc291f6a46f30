import { adminUser } from '../resources/admin-user.ts';
import { apiKeyRecord } from '../resources/api-key.ts';
import { capsuleRecord } from '../resources/capsule.ts';
import { connectedAppRecord } from '../resources/connected-app.ts';
import { oauthClientRecord } from '../resources/oauth-client.ts';
import { oauthStateRecord } from '../resources/oauth-state.ts';
import { passkeyRecord } from '../resources/passkey.ts';
import { sessionRecord } from '../resources/session.ts';
import { signInLinkRecord, usedTokenRecord } from '../resources/sign-in.ts';
import { define } from './collection-definition.ts';

export const accessCollections = {
  apiKeys: define({
    schema: apiKeyRecord,
    idPrefix: 'key',
    unique: [{ fields: ['prefix'] }],
    sorts: ['name', 'updatedAt'],
    indexes: [['ownerId'], ['endsWith'], ['replacedPrefixes']],
  }),
  capsules: define({
    schema: capsuleRecord,
    idPrefix: 'cap',
    unique: [],
    sorts: ['name', 'updatedAt'],
    indexes: [['status'], ['tokenPrefixes'], ['ownerId', 'status'], ['name']],
    search: { type: 'capsule', title: ['name'], text: ['description'] },
  }),
  adminUsers: define({
    schema: adminUser,
    idPrefix: 'usr',
    unique: [{ fields: ['email'], ignoreCase: true }],
    sorts: ['email', 'name', 'updatedAt'],
    indexes: [['role', 'isActive'], ['isActive'], ['email']],
    search: { type: 'admin-user', title: ['name', 'email'], text: [] },
  }),
  sessions: define({
    schema: sessionRecord,
    idPrefix: 'ses',
    unique: [],
    indexes: [['userId'], ['keyId'], ['makerId']],
    expires: 'expiresAt',
  }),
  signInLinks: define({
    schema: signInLinkRecord,
    idPrefix: 'lnk',
    unique: [{ fields: ['hash'] }],
    indexes: [['hash'], ['userId'], ['keyId'], ['makerId']],
    expires: 'expiresAt',
  }),
  passkeys: define({
    schema: passkeyRecord,
    idPrefix: 'psk',
    unique: [{ fields: ['credentialId'] }],
    indexes: [['credentialId'], ['userId']],
  }),
  usedTokens: define({
    schema: usedTokenRecord,
    idPrefix: 'tok',
    unique: [{ fields: ['key'] }],
    indexes: [['key']],
    expires: 'expiresAt',
  }),
  connectedApps: define({
    schema: connectedAppRecord,
    idPrefix: 'app',
    unique: [],
    indexes: [['userId'], ['capsuleId'], ['clientId'], ['userId', 'capsuleId']],
  }),
  oauthClients: define({
    schema: oauthClientRecord,
    idPrefix: 'ocl',
    unique: [{ fields: ['clientId'] }],
    indexes: [['clientId'], ['kind']],
  }),
  oauthStates: define({
    schema: oauthStateRecord,
    idPrefix: 'ost',
    unique: [{ fields: ['key'] }],
    indexes: [['key'], ['grantId'], ['grantId', 'kind']],
    expires: 'expiresAt',
  }),
} as const;
