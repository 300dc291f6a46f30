import type { z } from 'zod';
import { adminUser } from '../resources/admin-user.ts';
import { agent } from '../resources/agent.ts';
import { agentRun } from '../resources/agent-run.ts';
import { apiKeyRecord } from '../resources/api-key.ts';
import { artifactRecord } from '../resources/artifact.ts';
import { botConfigRecord } from '../resources/bot-config.ts';
import { capsuleRecord } from '../resources/capsule.ts';
import { connectedAppRecord } from '../resources/connected-app.ts';
import { databaseRecord, storedDatabase } from '../resources/database.ts';
import { document } from '../resources/document.ts';
import { flow } from '../resources/flow.ts';
import { flowRunRecord } from '../resources/flow-run.ts';
import { goal } from '../resources/goal.ts';
import { idempotencyRecord } from '../resources/idempotency.ts';
import { integrationRecord } from '../resources/integration.ts';
import { integrationAccountRecord, integrationLinkRecord } from '../resources/integration-account.ts';
import { memoryRecord } from '../resources/memory.ts';
import { message } from '../resources/message.ts';
import { oauthClientRecord } from '../resources/oauth-client.ts';
import { oauthStateRecord } from '../resources/oauth-state.ts';
import { passkeyRecord } from '../resources/passkey.ts';
import { project } from '../resources/project.ts';
import { report } from '../resources/report.ts';
import { sessionRecord } from '../resources/session.ts';
import { settingsRecord } from '../resources/settings.ts';
import { signInLinkRecord, usedTokenRecord } from '../resources/sign-in.ts';
import { skill } from '../resources/skill.ts';
import { task, taskDocument } from '../resources/task.ts';
import { threadRecord, threadSource } from '../resources/thread.ts';
import { versionRecord } from '../resources/version.ts';
import { define } from './collection-definition.ts';

export const collections = {
  agents: define({
    schema: agent,
    idPrefix: 'agt',
    unique: [{ fields: ['name'], except: { field: 'status', value: 'deleted' } }],
    indexes: [['status'], ['name'], ['skillIds']],
    search: {
      type: 'agent',
      title: ['displayName', 'name'],
      text: ['description', 'instructions'],
      alike: ['status'],
    },
  }),
  skills: define({
    schema: skill,
    idPrefix: 'skl',
    unique: [{ fields: ['name'] }],
    indexes: [['name']],
    search: { type: 'skill', title: ['displayName', 'name'], text: ['description', 'instructions'] },
  }),
  memories: define({
    schema: memoryRecord,
    idPrefix: 'mem',
    unique: [],
    indexes: [
      ['accessKeys', 'superseded'],
      ['agentId'],
      ['threadId'],
      ['userId'],
      ['scope'],
      ['kind'],
      ['tags'],
      ['pinned'],
      ['supersedes'],
    ],
    expires: 'expiresAt',
    search: {
      type: 'memory',
      title: [],
      text: ['content', 'tags'],
      alike: ['superseded', 'accessKeys', 'agentId', 'scope', 'kind'],
    },
  }),
  threads: define({
    schema: threadRecord,
    idPrefix: 'thr',
    unique: [],
    indexes: [
      ['accessKeys'],
      ['accessKeys', 'status'],
      ['accessKeys', 'source'],
      ['accessKeys', 'agentIds'],
      ['visibility'],
    ],
    search: { type: 'thread', title: ['title'], text: [], alike: ['accessKeys'] },
  }),
  messages: define({
    schema: message,
    idPrefix: 'msg',
    appendOnly: true,
    unique: [],
    indexes: [['threadId']],
    search: {
      type: 'message',
      title: [],
      text: ['content'],
      owner: { collection: 'threads', field: 'threadId' },
      alike: ['threadId'],
    },
  }),
  threadSources: define({
    schema: threadSource,
    idPrefix: 'src',
    appendOnly: true,
    unique: [{ fields: ['source'] }],
    indexes: [['source']],
  }),
  agentRuns: define({
    schema: agentRun,
    idPrefix: 'run',
    unique: [],
    indexes: [['status'], ['threadId', 'status']],
  }),
  versions: define({
    schema: versionRecord,
    idPrefix: 'ver',
    appendOnly: true,
    unique: [{ fields: ['entityType', 'entityId', 'revision'] }],
    indexes: [['entityType', 'entityId']],
  }),
  apiKeys: define({
    schema: apiKeyRecord,
    idPrefix: 'key',
    unique: [{ fields: ['prefix'] }],
    indexes: [['ownerId'], ['endsWith'], ['replacedPrefixes']],
  }),
  capsules: define({
    schema: capsuleRecord,
    idPrefix: 'cap',
    unique: [],
    indexes: [['status'], ['tokenPrefixes'], ['ownerId', 'status']],
    search: { type: 'capsule', title: ['name'], text: ['description'] },
  }),
  adminUsers: define({
    schema: adminUser,
    idPrefix: 'usr',
    unique: [{ fields: ['email'], ignoreCase: true }],
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
  reports: define({
    schema: report,
    idPrefix: 'rep',
    unique: [],
    indexes: [],
    search: { type: 'report', title: ['title'], text: ['description'] },
  }),
  flows: define({
    schema: flow,
    idPrefix: 'flw',
    unique: [],
    indexes: [['enabled'], ['agentId']],
    search: { type: 'flow', title: ['name'], text: ['description'] },
  }),
  flowRuns: define({
    schema: flowRunRecord,
    idPrefix: 'run',
    unique: [],
    indexes: [['flowId'], ['status'], ['flowId', 'status'], ['ownerId', 'status'], ['begunBy'], ['recordIds']],
  }),
  botConfigs: define({ schema: botConfigRecord, idPrefix: 'bot', unique: [], indexes: [] }),
  settings: define({ schema: settingsRecord, idPrefix: 'set', unique: [], indexes: [] }),
  projects: define({
    schema: project,
    idPrefix: 'prj',
    unique: [],
    indexes: [['status']],
    search: { type: 'project', title: ['name'], text: ['description'] },
  }),
  goals: define({
    schema: goal,
    idPrefix: 'gol',
    unique: [],
    indexes: [['status'], ['projectId']],
    search: { type: 'goal', title: ['title'], text: ['description'] },
  }),
  tasks: define({
    schema: task,
    idPrefix: 'tsk',
    unique: [],
    indexes: [['status'], ['projectId'], ['goalId'], ['assigneeAgentId'], ['assigneeAgentId', 'status']],
    search: { type: 'task', title: ['title'], text: [] },
  }),
  /** A task's document has the id of its task. */
  taskDocuments: define({
    schema: taskDocument,
    idPrefix: 'tdc',
    unique: [],
    indexes: [],
    search: { type: 'task-document', title: [], text: ['content'], owner: { collection: 'tasks', field: 'id' } },
  }),
  documents: define({
    schema: document,
    idPrefix: 'doc',
    unique: [],
    indexes: [['projectId'], ['tags']],
    search: { type: 'document', title: ['title'], text: ['content', 'tags'] },
  }),
  artifacts: define({
    schema: artifactRecord,
    idPrefix: 'art',
    unique: [],
    indexes: [['accessKeys'], ['accessKeys', 'projectId'], ['accessKeys', 'threadId'], ['accessKeys', 'mimeType']],
    search: { type: 'artifact', title: ['name'], text: ['content'], alike: ['accessKeys'] },
  }),
  databases: define({
    schema: storedDatabase,
    idPrefix: 'dbs',
    unique: [],
    indexes: [],
    search: { type: 'database', title: ['name'], text: ['description'] },
  }),
  databaseRecords: define({
    schema: databaseRecord,
    idPrefix: 'rec',
    unique: [],
    indexes: [['databaseId']],
    search: {
      type: 'database-record',
      title: [],
      text: ['values'],
      owner: { collection: 'databases', field: 'databaseId' },
      alike: ['databaseId'],
    },
  }),
  integrations: define({
    schema: integrationRecord,
    idPrefix: 'int',
    unique: [
      { fields: ['name'], ignoreCase: true },
      { fields: ['toolPrefix'], except: { field: 'toolPrefix', value: '' } },
    ],
    indexes: [['enabled']],
  }),
  integrationAccounts: define({
    schema: integrationAccountRecord,
    idPrefix: 'iac',
    unique: [{ fields: ['key'] }],
    indexes: [['key'], ['integrationId'], ['userId']],
  }),
  integrationLinks: define({
    schema: integrationLinkRecord,
    idPrefix: 'ilk',
    unique: [{ fields: ['hash'] }],
    indexes: [['hash'], ['stateHash'], ['integrationId', 'userId'], ['integrationId'], ['userId']],
    expires: 'expiresAt',
  }),
  idempotency: define({
    schema: idempotencyRecord,
    idPrefix: 'idm',
    unique: [{ fields: ['key'] }],
    indexes: [['recordIds']],
  }),
} as const;

export type CollectionName = keyof typeof collections;
export type RecordOf<Name extends CollectionName> = z.infer<(typeof collections)[Name]['schema']>;
