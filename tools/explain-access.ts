import { z } from 'zod';
import type { ApiKeyRecord } from '../resources/api-key.ts';
import { requiredRight } from '../resources/error.ts';
import { recordId } from '../resources/fields.ts';
import type { Readers } from '../store/port.ts';
import { keyProblem, principalOf } from './access/authenticate.ts';
import { explainLimit, explainRight, type Finding } from './access/explain.ts';
import { subjectsIn } from './access/subjects.ts';
import { isListed, unknownTool } from './catalog-index.ts';
import type { Context } from './context.ts';
import { defineTool, READS } from './define-tool.ts';

const verdict = z.enum(['allowed', 'denied', 'depends']);

export const explainAccess = defineTool({
  name: 'explain_access',
  title: 'Explain access',
  description:
    'Tell whether a key may make a call and which rule decides, before or after it was refused. Makes no call. Threads restricted to some are apart: see get_thread_access.',
  access: { scope: 'admin', grant: 'key:read' },
  annotations: READS,
  input: z.strictObject({
    keyId: recordId.describe('Key id (`key_…`), see list_api_keys.'),
    tool: z.string().min(1).max(200).describe('Name of the tool.'),
    arguments: z.looseObject({}).optional().describe('Of the call; without them the tool as a whole is judged.'),
  }),
  output: z.object({
    verdict: verdict.describe('depends: on the arguments, which were not given or do not fit.'),
    principal: z.object({ type: z.string(), id: z.string(), name: z.string() }),
    tool: z.string(),
    checks: z
      .array(z.object({ check: z.enum(['credential', 'tools', 'right']), verdict, rule: z.string() }))
      .describe('In the order in which they are made.'),
    required: requiredRight
      .optional()
      .describe('What would allow the call: the scope, or for a key with grants the grant.'),
  }),
  errors: ['not_found'],

  async handler({ keyId, tool: name, arguments: given }, context) {
    const { store, server } = context;
    const key = await store.apiKeys.get(keyId);
    if (!key) throw context.fail('not_found', `There is no API key ${keyId}; see list_api_keys.`);
    const tool = server.catalog.get(name)?.tool;
    if (!tool || !isListed(tool))
      throw unknownTool(
        name,
        server.catalog.entries.filter((entry) => isListed(entry.tool)),
      );
    const principal = principalOf(key);
    const parsed = tool.input.safeParse(given ?? {});
    const input = parsed.success ? parsed.data : (given ?? {});
    const checks = [
      { check: 'credential' as const, ...(await credential(key, context)) },
      ...[explainLimit(principal, tool)].flatMap((found) => (found ? [{ check: 'tools' as const, ...found }] : [])),
      { check: 'right' as const, ...(await explainRight(principal, tool, input, parsed.success, subjectsIn(store))) },
    ];
    const missing = checks.find(({ required }) => required)?.required;
    return {
      verdict: worst(checks),
      principal: { type: principal.type, id: principal.id, name: principal.name },
      tool: name,
      checks: checks.map(({ check, verdict, rule }) => ({ check, verdict, rule })),
      ...(missing && { required: missing }),
    };
  },
});

function worst(findings: readonly Finding[]): Finding['verdict'] {
  const found = new Set(findings.map(({ verdict }) => verdict));
  if (found.has('denied')) return 'denied';
  return found.has('depends') ? 'depends' : 'allowed';
}

async function credential(key: ApiKeyRecord, { store, server }: Context<Readers, never>): Promise<Finding> {
  const problem = await keyProblem(store, key, server.now());
  return problem ? { verdict: 'denied', rule: problem } : { verdict: 'allowed', rule: 'The key is good.' };
}
