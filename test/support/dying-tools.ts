import { once } from 'node:events';
import { z } from 'zod';
import { ANYONE } from '../../tools/core/access/guarded-tool.ts';
import { CREATES, defineTool, READS, type Tool } from '../../tools/core/registry/define-tool.ts';

export async function die(): Promise<never> {
  process.kill(process.pid, 'SIGKILL');
  await once(process, 'never');
  throw new Error('It lives.');
}

const parts = { title: 'Dies', description: 'Dies the first time.', access: ANYONE, errors: [] } as const;
const schemas = { input: z.strictObject({}), output: z.object({ ok: z.boolean() }) } as const;

/** Tools that die by SIGKILL in the middle of a call where they are to, or end otherwise, and answer where they are not. */
export function toolsThatDie(dies: boolean, end: () => Promise<never> = die): readonly Tool[] {
  return [
    defineTool({
      ...parts,
      ...schemas,
      name: 'dies_reading',
      annotations: READS,
      handler: async () => (dies ? end() : { ok: true }),
    }),
    defineTool({
      ...parts,
      ...schemas,
      name: 'dies_before_commit',
      annotations: CREATES,
      async handler(_, { store }) {
        await store.skills.insert({ name: 'second', instructions: 'x' });
        return dies ? end() : { ok: true };
      },
    }),
    defineTool({
      ...parts,
      ...schemas,
      name: 'dies_after_commit',
      annotations: CREATES,
      async handler(_, { store }) {
        await store.skills.insert({ name: 'second', instructions: 'x' });
        return { ok: true };
      },
    }),
    defineTool({
      ...parts,
      ...schemas,
      name: 'dies_between_steps',
      annotations: CREATES,
      inSteps: true,
      async handler(_, { write }) {
        await write((store) => store.skills.insert({ name: 'second', instructions: 'x' }));
        return dies ? end() : { ok: true };
      },
    }),
    defineTool({
      ...parts,
      ...schemas,
      name: 'dies_waiting',
      annotations: CREATES,
      async handler(_, { store, fail }) {
        if (dies) throw fail('unavailable', 'Not this time.');
        await store.skills.insert({ name: 'second', instructions: 'x' });
        return { ok: true };
      },
    }),
  ];
}
