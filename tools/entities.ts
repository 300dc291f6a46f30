import { agentEntity } from './agents/agents.ts';
import { botConfigEntity } from './settings/bot-config.ts';
import { skillEntity } from './skills.ts';

/** Every kind of record that has a history. */
export const entities = [agentEntity, skillEntity, botConfigEntity] as const;
