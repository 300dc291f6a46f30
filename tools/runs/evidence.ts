import { z } from 'zod';
import { type AgentRun, type ReadRecord, wholeAgentRun } from '../../resources/agent-run.ts';
import { BOT_CONFIG_ID } from '../../resources/bot-config.ts';
import { collections } from '../../store/collections.ts';
import type { Readers } from '../../store/port.ts';
import type { Principal } from '../core/access/principal.ts';
import { mayRead } from '../core/access/read-access.ts';
import type { Kind } from '../core/registry/define-kind.ts';

/** A run with what the caller may read of the records it was given and saw. */
export const shownRun = wholeAgentRun.extend({
  hidden: z.int().min(0).describe('Records that it was given or saw, and that are deleted or that you may not read.'),
});

/** Leaves out the records that the caller may not read, and counts them. */
export async function showRun(
  run: AgentRun,
  {
    store,
    principal,
    kinds,
  }: { readonly store: Readers; readonly principal: Principal; readonly kinds: readonly Kind[] },
): Promise<z.infer<typeof shownRun>> {
  const { prompt, skills = [], memories = [], calls = [] } = run;
  const named = [...(prompt ? [prompt] : []), ...skills, ...memories, ...calls.flatMap(({ records }) => records)];
  const ids = [...new Set(named.map(({ id }) => id))];
  const judged = await Promise.all(ids.map((id) => isReadable(id, { store, principal, kinds })));
  const readable = new Set(ids.filter((_, at) => judged[at]));
  const shown = (records: readonly ReadRecord[]) => records.filter(({ id }) => readable.has(id));
  return {
    ...run,
    ...(prompt && { prompt: shown([prompt])[0] }),
    skills: shown(skills),
    memories: shown(memories),
    calls: calls.map((call) => ({ ...call, records: shown(call.records) })),
    hidden: ids.length - readable.size,
  };
}

/** A deleted record is readable for nobody, because nothing says any more who could read it. */
async function isReadable(
  id: string,
  {
    store,
    principal,
    kinds,
  }: { readonly store: Readers; readonly principal: Principal; readonly kinds: readonly Kind[] },
): Promise<boolean> {
  const kind = kinds.find(({ get, collection }) => get && hasIdsLike(id, collection));
  const record = kind && (await store[kind.collection].get(id));
  if (!kind?.get || !record) return false;
  return mayRead(principal, kind.get, 'id' in kind.get.input.shape ? { id } : {}, record);
}

function hasIdsLike(id: string, collection: Kind['collection']): boolean {
  return collection === 'botConfigs' ? id === BOT_CONFIG_ID : id.startsWith(`${collections[collection].idPrefix}_`);
}
