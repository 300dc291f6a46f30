import type { Readers } from '../../../store/port.ts';
import type { Principal } from '../access/principal.ts';
import { isHiddenByLimit } from '../access/reach.ts';
import { isGuarded, isSeen } from '../access/visibility.ts';

const COLLECTIONS = { artifact: 'artifacts', document: 'documents', report: 'reports' } as const;
type Type = keyof typeof COLLECTIONS;

export interface TakenAlong {
  readonly type: Type;
  readonly id: string;
}

/** The records whose content goes with a call, each as the caller may see it now, for `reaches` of a tool. Undefined if there are none. */
export async function takenAlong(
  records: readonly TakenAlong[],
  store: Pick<Readers, (typeof COLLECTIONS)[Type]>,
  caller: Principal,
): Promise<string | undefined> {
  const types = new Map(records.map(({ id, type }) => [id, type]));
  const found = await Promise.all(
    [...types].map(async ([id, type]) => {
      const record = await store[COLLECTIONS[type]].get(id);
      const isHidden =
        record && ((isGuarded(record) && !isSeen(record, caller)) || isHiddenByLimit(caller, type, 'read', record));
      return record && !isHidden ? `${id} (revision ${record.revision})` : id;
    }),
  );
  return found.length === 0 ? undefined : `the content of ${found.join(', ')}`;
}
