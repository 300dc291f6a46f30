import { z } from 'zod';
import type { Agent } from '../../../resources/agent.ts';
import type { AgentRun } from '../../../resources/agent-run.ts';
import { memoryFields, memoryTags } from '../../../resources/memory.ts';
import { actingFor } from '../../core/access/agent-principal.ts';
import type { CheckCredential } from '../../core/access/credential-status.ts';
import type { Principal } from '../../core/access/principal.ts';
import { seesTool } from '../../core/access/reach.ts';
import { errorBodyOf, ToolError, toToolError } from '../../core/errors.ts';
import type { Catalog } from '../../core/registry/catalog-index.ts';
import type { CallingContext } from '../../core/registry/context.ts';
import { jsonSchema } from '../../core/registry/json-schema.ts';
import { parseInput } from '../../core/registry/validate.ts';
import type { LoopTool } from './agent-tools.ts';

/** People alone store instructions and preferences: what an agent reads could make it store somebody else's orders. */
const input = z.strictObject({
  content: memoryFields.content.max(4000),
  kind: z.enum(['fact', 'episode', 'summary']).default('fact'),
  tags: memoryTags.max(10).default([]),
});

const STORES = 'create_memory';
export const MOST_IN_A_RUN = 10;

interface Remembering {
  readonly agent: Agent;
  readonly caller: Principal;
  readonly renewedAs: (
    acting: (caller: Principal, agent: Agent | undefined) => Principal,
  ) => CheckCredential | undefined;
  readonly run: AgentRun;
  readonly catalog: Catalog;
  readonly call: CallingContext<unknown, never>['call'];
  readonly signal: AbortSignal;
}

/** The tool that stores a memory of the agent. It exists only if the agent's memory policy allows it and its caller may store memories. */
export function rememberTool(remembering: Remembering): LoopTool | undefined {
  const { agent, caller, run, catalog, call, signal } = remembering;
  // The agent's memory policy allows this one tool, besides its allowlist.
  const acting = (whom: Principal, as = agent) =>
    actingFor(whom, { ...as, tools: as.memoryPolicy.remember ? [STORES] : [] }, catalog, run.id);
  const principal = acting(caller);
  const checkCredential = remembering.renewedAs(acting);
  const stores = catalog.get(STORES)?.tool;
  if (!stores || !seesTool(principal, stores)) return undefined;
  let count = 0;
  return {
    name: 'remember',
    description: `Remember something for later conversations, one thing in plain words, that is worth knowing then. At most ${MOST_IN_A_RUN} times in a run.`,
    inputSchema: jsonSchema(input, 'input'),
    async run(given, auditId) {
      try {
        const memory = parseInput(input, given);
        count += 1;
        if (count > MOST_IN_A_RUN)
          throw new ToolError('conflict', 'This run may not store any more memories; the limit is reached.');
        const thread = run.threadId === undefined ? {} : { threadId: run.threadId };
        const owner = { scope: 'agent', agentId: agent.id, ...thread, source: `agent run ${run.id}` };
        return await call(
          STORES,
          { ...memory, ...owner },
          {
            principal,
            checkCredential,
            door: 'agent',
            signal,
            auditId,
          },
        );
      } catch (thrown) {
        return { ok: false, error: errorBodyOf(toToolError(thrown), '') };
      }
    },
  };
}
