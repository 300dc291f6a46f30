import { z } from 'zod';
import { ANYONE } from '../../tools/core/access/guarded-tool.ts';
import { CREATES, defineTool } from '../../tools/core/registry/define-tool.ts';

/** All but the name and the handler of a tool that anyone may call, and that is run again only where a step may be. */
export const testTool = {
  title: 'Test',
  description: 'For a test.',
  access: ANYONE,
  annotations: { ...CREATES, openWorldHint: true },
  inSteps: true,
  input: z.strictObject({}),
  output: z.object({ ok: z.boolean() }),
  errors: [],
} as const;

/** A tool `counts`, and how often it was called. */
export function countingTool() {
  const counted = { calls: 0 };
  const tool = defineTool({
    ...testTool,
    name: 'counts',
    async handler() {
      counted.calls += 1;
      return { ok: true };
    },
  });
  return { tool, counted };
}
