import type { Store, Transaction } from '../../../store/port.ts';
import { authorOf, type Principal } from '../access/principal.ts';
import { storageOwnerOf } from '../access/storage.ts';
import { withHistory } from '../history/history.ts';
import type { HistoryWriters } from '../history-writers.ts';
import type { ServerFacts } from './context.ts';

/** Runs the work with the history of what it changes, held against the quotas of storage. */
export async function transactWithHistory<Result>(
  store: Store,
  { principal, server }: { readonly principal: Principal; readonly server: ServerFacts },
  work: (tx: Transaction, history: HistoryWriters) => Promise<Result>,
): Promise<Result> {
  const { kinds, now, storage } = server;
  const room = await storage?.roomFor(principal);
  const by = { author: authorOf(principal), principalId: storageOwnerOf(principal), room, now };
  const done = store.transaction((tx) => work(tx, withHistory(tx, kinds, by)), principal);
  return done.finally(() => room?.end());
}
