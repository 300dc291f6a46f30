import { agentEntity } from './agents/agents.ts';
import { artifactEntity } from './artifacts.ts';
import { databaseRecordEntity } from './databases/records.ts';
import { documentEntity } from './documents.ts';
import { flowEntity } from './flows/flows.ts';
import { memoryEntity } from './memory/memory.ts';
import { projectEntity } from './projects.ts';
import { botConfigEntity } from './settings/bot-config.ts';
import { skillEntity } from './skills.ts';
import { taskDocumentEntity } from './tasks.ts';

/** Every kind of record that has a history. */
export const entities = [
  agentEntity,
  skillEntity,
  memoryEntity,
  flowEntity,
  botConfigEntity,
  projectEntity,
  taskDocumentEntity,
  documentEntity,
  artifactEntity,
  databaseRecordEntity,
] as const;
