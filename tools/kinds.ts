import { agentKind } from './agents/agents.ts';
import { approvalKind } from './approvals/approvals.ts';
import { artifactKind } from './artifacts.ts';
import { capsuleKind } from './capsules/capsules.ts';
import type { Kind } from './core/registry/define-kind.ts';
import { databaseKind } from './databases/databases.ts';
import { databaseRecordKind } from './databases/records.ts';
import { documentKind } from './documents/documents.ts';
import { flowKind } from './flows/flows.ts';
import { goalKind } from './goals.ts';
import { memoryKind } from './memory/memory-kind.ts';
import { projectKind } from './projects.ts';
import { reportKind } from './reports.ts';
import { productUsers, type SearchType, searchTypesOf } from './search/types.ts';
import { botConfigKind } from './settings/bot-config.ts';
import { adminUserKind } from './sign-in/admin-users.ts';
import { skillKind } from './skills.ts';
import { taskDocumentKind, taskKind } from './tasks.ts';
import { messageKind } from './threads/messages.ts';
import { threadKind } from './threads/threads.ts';
import { budgetKind } from './usage/budgets.ts';

/** Every kind of record that people work with, in the order in which lists show them. */
export const kinds: readonly Kind[] = [
  agentKind,
  skillKind,
  flowKind,
  threadKind,
  messageKind,
  reportKind,
  botConfigKind,
  capsuleKind,
  memoryKind,
  projectKind,
  goalKind,
  taskKind,
  taskDocumentKind,
  documentKind,
  artifactKind,
  databaseKind,
  databaseRecordKind,
  adminUserKind,
  budgetKind,
  approvalKind,
];

/** What search finds: records of the kinds, and users of the product, which are imported rows. */
export const searchTypes: readonly SearchType[] = [...searchTypesOf(kinds), productUsers];
