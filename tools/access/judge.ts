import { explainRight, type Finding } from '../core/access/explain.ts';
import type { GuardedTool } from '../core/access/guarded-tool.ts';
import { isListed } from '../core/access/guarded-tool.ts';
import type { Principal } from '../core/access/principal.ts';
import { inCallOf, mayCall, reachesFully, refusal, seesTool } from '../core/access/reach.ts';
import { accessFor, requirementFor } from '../core/access/requirement.ts';
import { subjectsIn } from '../core/access/subjects.ts';
import { guardedAmong, hasRole, isSeen } from '../core/access/visibility.ts';
import { ToolError } from '../core/errors.ts';
import { type Catalog, unknownTool } from '../core/registry/catalog-index.ts';
import type { CallerContext } from '../core/registry/context.ts';
import { withRecordIds } from '../core/registry/record-names.ts';
import type { Tool } from '../core/registry/tool.ts';

export type Judging = Pick<CallerContext, 'store' | 'server'>;

/** @throws ToolError (not_found) that names similar tools */
export function listedToolNamed(name: string, catalog: Catalog): Tool {
  const tool = catalog.get(name)?.tool;
  if (tool && isListed(tool)) return tool;
  throw unknownTool(
    name,
    catalog.entries.filter((entry) => isListed(entry.tool)),
  );
}

/** The arguments as the handler would get them. Undefined if they do not fit, or do not say which record is meant. */
export async function inputOf(
  principal: Principal,
  tool: Tool,
  given: unknown,
  { store, server: { catalog } }: Judging,
): Promise<object | undefined> {
  const parsed = tool.input.safeParse(given);
  if (!parsed.success) return undefined;
  try {
    return await withRecordIds(tool.input, parsed.data, { store, catalog, principal });
  } catch (thrown) {
    if (thrown instanceof ToolError) return undefined;
    throw thrown;
  }
}

/** What `authorize` of the tool refuses. */
export async function beyond(
  principal: Principal,
  tool: Tool,
  input: object,
  { store, server }: Judging,
): Promise<Finding | undefined> {
  if (!tool.authorize) return undefined;
  try {
    await tool.authorize(input, { store, principal: inCallOf(principal, tool), server });
    return undefined;
  } catch (thrown) {
    if (!(thrown instanceof ToolError) || thrown.code !== 'forbidden') return undefined; // what else is wrong is not a matter of access
    const { required, issues } = thrown.detail;
    return { verdict: 'denied', rule: issues?.[0]?.message ?? thrown.message, required };
  }
}

/** Whether the principal may call the tool at all. `depends`: for some records, or on the arguments. */
export async function judgeTool(principal: Principal, tool: Tool, judging: Judging): Promise<Finding> {
  const words = await wordsFor(principal, tool, {}, false, judging);
  if (tool.discovery) return { verdict: 'allowed', rule: words.rule };
  if (!seesTool(principal, tool)) return { ...words, verdict: 'denied' };
  return { ...words, verdict: reachesFully(principal, tool) ? 'allowed' : 'depends' };
}

/** Whether the call is allowed, with arguments that are checked or at least name the record, and fixed ones among them. */
export async function judgeCall(principal: Principal, tool: Tool, input: object, judging: Judging): Promise<Finding> {
  const { store, server } = judging;
  const words = await wordsFor(principal, tool, input, true, judging);
  if (!seesTool(principal, tool)) return { ...words, verdict: 'denied' };
  if (!(await mayCall(principal, tool, input, subjectsIn(store, server.kinds)))) return { ...words, verdict: 'denied' };
  const hidden = tool.discovery ? undefined : await hiddenFrom(principal, tool, input, judging);
  return hidden === undefined ? { ...words, verdict: 'allowed' } : { verdict: 'denied', rule: hidden };
}

async function wordsFor(
  principal: Principal,
  tool: GuardedTool,
  input: object,
  whole: boolean,
  { store, server }: Judging,
): Promise<Finding> {
  if (principal.tools && !principal.tools.allows(tool) && !tool.discovery) {
    const denial = principal.tools.deniedBy?.(tool);
    if (denial !== undefined)
      return { verdict: 'denied', rule: `${tool.name} is denied by "${denial}" in deniedTools.` };
    const { detail, message } = refusal(principal, tool, input);
    return { verdict: 'denied', rule: detail.issues?.[0]?.message ?? message };
  }
  const right = await explainRight(
    { ...principal, rights: principal.rights.inCallOf(tool) },
    tool,
    input,
    whole,
    subjectsIn(store, server.kinds),
  );
  if (right.verdict !== 'allowed' && tool.own && principal.rights.isPerson && !principal.tools) {
    return { verdict: 'depends', rule: 'People may call it for what is their own.' };
  }
  const narrowed = principal.tools?.narrowed?.(tool);
  return narrowed === undefined ? right : { ...right, rule: `${narrowed} ${right.rule}` };
}

/** Why the record of the call is hidden from the principal, or its role in the thread too low. */
export async function hiddenFrom(
  principal: Principal,
  tool: Tool,
  input: object,
  { store, server }: Judging,
): Promise<string | undefined> {
  if (principal.rights.isAdmin) return undefined;
  const { needs } = await requirementFor(accessFor(tool.access, input), input, subjectsIn(store, server.kinds));
  const named = needs.flatMap(({ ids = [] }) => ids);
  const continued = tool.continuesThreads && 'threadId' in input ? input.threadId : undefined;
  if (typeof continued === 'string') named.push(continued);
  for (const record of await guardedAmong(store, named)) {
    const thread = record.id.startsWith('thr_') ? await store.threads.get(record.id) : undefined;
    const needed = record.id === continued ? 'editor' : (tool.threadRole ?? 'viewer');
    if (thread ? hasRole(thread, principal, needed) : isSeen(record, principal)) continue;
    return isSeen(record, principal)
      ? `${record.id} is shared with it, but not as ${needed}.`
      : `${record.id} is restricted, and not shared with it.`;
  }
  return undefined;
}
