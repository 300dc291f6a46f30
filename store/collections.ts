import type { z } from 'zod';
import { agent } from '../resources/agent.ts';
import { agentRunRecord } from '../resources/agent-run.ts';
import { approvalRecord } from '../resources/approval.ts';
import { artifactRecord } from '../resources/artifact.ts';
import { botConfigRecord } from '../resources/bot-config.ts';
import { budgetRecord } from '../resources/budget.ts';
import { connectionRecord } from '../resources/connection.ts';
import { databaseRecord, storedDatabase } from '../resources/database.ts';
import { document, documentFileRecord } from '../resources/document.ts';
import { flow } from '../resources/flow.ts';
import { flowDeliveryRecord } from '../resources/flow-delivery.ts';
import { flowRunRecord } from '../resources/flow-run.ts';
import { flowSecretRecord } from '../resources/flow-secret.ts';
import { goal } from '../resources/goal.ts';
import { idempotencyRecord } from '../resources/idempotency.ts';
import { integrationRecord } from '../resources/integration.ts';
import { integrationAccountRecord, integrationLinkRecord } from '../resources/integration-account.ts';
import { memoryRecord } from '../resources/memory.ts';
import { message } from '../resources/message.ts';
import { modelProviderRecord } from '../resources/model-provider.ts';
import { moveRecord } from '../resources/move.ts';
import { project } from '../resources/project.ts';
import { report } from '../resources/report.ts';
import { settingsRecord } from '../resources/settings.ts';
import { skill } from '../resources/skill.ts';
import { task, taskDocument } from '../resources/task.ts';
import { threadRecord, threadSource } from '../resources/thread.ts';
import { usageHour } from '../resources/usage.ts';
import { versionRecord } from '../resources/version.ts';
import { alertRecord, webhookDeliveryRecord, webhookRecord } from '../resources/webhook.ts';
import { accessCollections } from './access-collections.ts';
import { define } from './collection-definition.ts';

export const collections = {
  agents: define({
    schema: agent,
    idPrefix: 'agt',
    unique: [{ fields: ['name'], except: { field: 'status', value: 'deleted' } }],
    sorts: ['name', 'displayName', 'updatedAt'],
    indexes: [['status'], ['name'], ['skillIds']],
    parts: ['name', 'displayName'],
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
    sorts: ['name', 'displayName', 'updatedAt'],
    indexes: [['name']],
    parts: ['name', 'displayName'],
    search: { type: 'skill', title: ['displayName', 'name'], text: ['description', 'instructions'] },
  }),
  memories: define({
    schema: memoryRecord,
    idPrefix: 'mem',
    unique: [],
    sorts: ['updatedAt'],
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
    counts: { by: ['accessKeys', 'superseded', 'kind', 'agentId'] },
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
    sorts: ['title', 'lastMessageAt', 'updatedAt'],
    indexes: [
      ['accessKeys'],
      ['accessKeys', 'status'],
      ['accessKeys', 'source'],
      ['accessKeys', 'agentIds'],
      ['accessKeys', 'title'],
      ['visibility'],
    ],
    counts: { by: ['accessKeys', 'status', 'source'] },
    search: { type: 'thread', title: ['title'], text: [], alike: ['accessKeys'] },
  }),
  messages: define({
    schema: message,
    idPrefix: 'msg',
    appendOnly: true,
    unique: [],
    indexes: [['threadId']],
    counts: { by: [], quarters: true },
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
    schema: agentRunRecord,
    idPrefix: 'run',
    unique: [],
    indexes: [
      ['accessKeys'],
      ['accessKeys', 'status'],
      ['accessKeys', 'agentId'],
      ['askers'],
      ['capsuleId'],
      ['status'],
      ['threadId'],
      ['threadId', 'status'],
      ['begunBy'],
      ['requestId'],
    ],
    counts: { by: ['accessKeys', 'status', 'agentId'] },
  }),
  /** The file of each id is in `files` of the store: one of each hash and document, and those of messages in threads. */
  documentFiles: define({
    schema: documentFileRecord,
    idPrefix: 'fil',
    appendOnly: true,
    unique: [{ fields: ['documentId', 'sha256'] }],
    indexes: [['documentId'], ['documentId', 'sha256'], ['threadId']],
    counts: { by: ['principalId'], bytes: { of: 'sha256', noted: 'sizeBytes' } },
  }),
  versions: define({
    schema: versionRecord,
    idPrefix: 'ver',
    appendOnly: true,
    unique: [{ fields: ['entityType', 'entityId', 'revision'] }],
    indexes: [['entityType', 'entityId'], ['by']],
    counts: { by: ['entityType', 'principalId'], bytes: { of: 'payload', noted: 'size' } },
  }),
  ...accessCollections,
  reports: define({
    schema: report,
    idPrefix: 'rep',
    unique: [],
    sorts: ['title', 'updatedAt'],
    indexes: [],
    parts: ['title', 'description'],
    search: { type: 'report', title: ['title'], text: ['description'] },
  }),
  flows: define({
    schema: flow,
    idPrefix: 'flw',
    unique: [],
    sorts: ['name', 'updatedAt'],
    indexes: [['enabled'], ['agentId'], ['name']],
    search: { type: 'flow', title: ['name'], text: ['description'] },
  }),
  flowRuns: define({
    schema: flowRunRecord,
    idPrefix: 'run',
    unique: [],
    indexes: [['flowId'], ['status'], ['flowId', 'status'], ['ownerId', 'status'], ['begunBy'], ['recordIds']],
  }),
  /** The secret of a flow's webhook has the id of its flow. */
  flowSecrets: define({ schema: flowSecretRecord, idPrefix: 'fse', unique: [], indexes: [] }),
  flowDeliveries: define({
    schema: flowDeliveryRecord,
    idPrefix: 'dlv',
    unique: [{ fields: ['key'] }],
    indexes: [['key'], ['flowId'], ['flowId', 'outcome']],
    expires: 'expiresAt',
  }),
  botConfigs: define({ schema: botConfigRecord, idPrefix: 'bot', unique: [], indexes: [] }),
  settings: define({ schema: settingsRecord, idPrefix: 'set', unique: [], indexes: [] }),
  projects: define({
    schema: project,
    idPrefix: 'prj',
    unique: [],
    sorts: ['name', 'updatedAt'],
    indexes: [['status'], ['name']],
    search: { type: 'project', title: ['name'], text: ['description'] },
  }),
  goals: define({
    schema: goal,
    idPrefix: 'gol',
    unique: [],
    sorts: ['title', 'targetDate', 'updatedAt'],
    indexes: [['status'], ['projectId']],
    search: { type: 'goal', title: ['title'], text: ['description'] },
  }),
  tasks: define({
    schema: task,
    idPrefix: 'tsk',
    unique: [],
    sorts: ['title', 'dueAt', 'updatedAt'],
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
    sorts: ['title', 'updatedAt'],
    indexes: [['projectId'], ['tags']],
    search: { type: 'document', title: ['title'], text: ['content', 'tags'] },
  }),
  artifacts: define({
    schema: artifactRecord,
    idPrefix: 'art',
    unique: [],
    sorts: ['name', 'updatedAt'],
    indexes: [['accessKeys'], ['accessKeys', 'projectId'], ['accessKeys', 'threadId'], ['accessKeys', 'mimeType']],
    counts: { by: ['accessKeys', 'projectId', 'mimeType'] },
    search: { type: 'artifact', title: ['name'], text: ['content'], alike: ['accessKeys'] },
  }),
  databases: define({
    schema: storedDatabase,
    idPrefix: 'dbs',
    unique: [],
    sorts: ['name', 'updatedAt'],
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
    sorts: ['name', 'updatedAt'],
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
  connections: define({
    schema: connectionRecord,
    idPrefix: 'con',
    unique: [{ fields: ['name'] }],
    sorts: ['name', 'updatedAt'],
    indexes: [['name']],
  }),
  modelProviders: define({
    schema: modelProviderRecord,
    idPrefix: 'mdp',
    unique: [{ fields: ['name'] }],
    indexes: [['enabled']],
  }),
  idempotency: define({
    schema: idempotencyRecord,
    idPrefix: 'idm',
    unique: [{ fields: ['key'] }],
    indexes: [['recordIds']],
  }),
  webhooks: define({
    schema: webhookRecord,
    idPrefix: 'whk',
    unique: [],
    sorts: ['name', 'updatedAt'],
    indexes: [['enabled']],
  }),
  webhookDeliveries: define({
    schema: webhookDeliveryRecord,
    idPrefix: 'whd',
    unique: [],
    indexes: [['webhookId'], ['webhookId', 'status']],
  }),
  alerts: define({ schema: alertRecord, idPrefix: 'alt', unique: [{ fields: ['key'] }], indexes: [['source']] }),
  usageHours: define({ schema: usageHour, idPrefix: 'ush', unique: [], indexes: [['source']] }),
  budgets: define({
    schema: budgetRecord,
    idPrefix: 'bud',
    unique: [{ fields: ['key'] }],
    indexes: [['key'], ['subjectKey']],
  }),
  approvals: define({
    schema: approvalRecord,
    idPrefix: 'apv',
    unique: [{ fields: ['slot'] }],
    indexes: [['slot'], ['status'], ['persons'], ['callerKey'], ['askedBy'], ['tool']],
  }),
  moves: define({ schema: moveRecord, idPrefix: 'mov', unique: [], indexes: [] }),
} as const;

export type CollectionName = keyof typeof collections;
export type RecordOf<Name extends CollectionName> = z.infer<(typeof collections)[Name]['schema']>;
