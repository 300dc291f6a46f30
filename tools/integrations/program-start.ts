import type { IntegrationRecord } from '../../resources/integration.ts';
import type { Readers } from '../../store/port.ts';

type ProgramChange = Pick<IntegrationRecord, 'id'> & {
  readonly [Member in 'command' | 'args' | 'env' | 'enabled']?: unknown;
};

/** Whether the change starts a program, or decides which one is started with what. */
export async function startsProgram(
  { id, command, args, env, enabled }: ProgramChange,
  { integrations }: Pick<Readers, 'integrations'>,
): Promise<boolean> {
  if (command === undefined && args === undefined && env === undefined && enabled !== true) return false;
  return (await integrations.get(id))?.transport === 'stdio';
}
