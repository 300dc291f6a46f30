import { requireSteeringBy } from '../core/access/steering.ts';
import { accessKeysWith, mayKnowOf } from '../core/access/visibility.ts';
import { withoutBookkeeping } from '../core/history/history.ts';
import { defineKind } from '../core/registry/define-kind.ts';
import { requireReferencesToRestore } from '../core/registry/references.ts';
import {
  deleteMemory,
  getMemory,
  listMemories,
  replacedBy,
  restoreSuperseded,
  searchMemories,
  updateMemory,
} from './memory.ts';

const MEMORIES = { type: 'memory', collection: 'memories' } as const;

export const memoryKind = defineKind({
  ...MEMORIES,
  list: listMemories,
  get: getMemory,
  update: updateMemory,
  delete: deleteMemory,
  refersTo: { agentId: 'agent', threadId: 'thread', userId: 'user' },
  address: { label: 'content' },
  search: { where: { superseded: false }, shownBy: [searchMemories] },
  history: {
    payload: (record) => {
      const { superseded: _, accessKeys: __, ...payload } = withoutBookkeeping(record);
      return payload;
    },

    async authorizeRestore(state, current, context) {
      await requireSteeringBy(context, state, current, await replacedBy(context.store, state));
    },

    async prepareRestore({ expiresAt, ...state }, current, context) {
      const { store, server } = context;
      await requireReferencesToRestore(context, state);
      if (state.supersedes !== undefined && (await store.memories.get(state.supersedes))) {
        await store.memories.touch(state.supersedes, { superseded: true });
      }
      const lives = expiresAt !== undefined && Date.parse(expiresAt) > server.now().getTime();
      // A memory that has expired is restored without its expiry time, since it would expire again at once.
      const accessKeys = await accessKeysWith(store, state, current);
      return { ...state, accessKeys, superseded: current?.superseded ?? false, ...(lives && { expiresAt }) };
    },
  },

  async authorizePurge(id, context) {
    if (!(await mayKnowOf(context, MEMORIES, id))) return;
    const found = await context.store.memories.get(id);
    if (found) await requireSteeringBy(context, found, await replacedBy(context.store, found));
  },

  async purge(id, context) {
    const { store } = context;
    if (!(await mayKnowOf(context, MEMORIES, id))) return false;
    const found = await store.memories.get(id);
    const purged = await store.purge('memories', id);
    if (found) await restoreSuperseded(store, found);
    return purged;
  },
});
