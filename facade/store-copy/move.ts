import { OperatorError } from '../../store/errors.ts';
import type { Store } from '../../store/port.ts';
import { howToRun } from '../config/how-to-run.ts';
import { movedCollections, movedTables } from './contents.ts';

/** The id of the record that says how far an import has come. */
export const MOVE_ID = 'mov_import';

/** A store that holds a part of a workspace is not used. @throws OperatorError */
export async function refuseUnfinishedMove(store: Store): Promise<void> {
  if (!(await store.moves.get(MOVE_ID))) return;
  const command = `${howToRun('import-all')} <file>`;
  throw new OperatorError(
    `An import into this store was begun and is not finished. Run \`${command}\` with the same file, or begin with an empty store.`,
  );
}

/** The last line that is in the store: 0 where nothing is. Notes that the import begins. @throws OperatorError if it may not */
export async function beginMove(store: Store, exportId: string): Promise<number> {
  const move = await store.moves.get(MOVE_ID);
  if (move && move.exportId !== exportId) {
    throw new OperatorError(
      `The import of another file (${move.exportId}) into this store was begun and is not finished. Import that one, or begin with an empty store.`,
    );
  }
  if (move) return move.line;
  const found = await somethingIn(store);
  if (found !== undefined) {
    throw new OperatorError(
      `This store is not empty: it has ${found}. Import into an empty one: name another DATA_DIR, or another database.`,
    );
  }
  await store.transaction((tx) => tx.moves.insert({ id: MOVE_ID, exportId, line: 0 }));
  return 0;
}

async function somethingIn(store: Store): Promise<string | undefined> {
  for (const name of movedCollections) if ((await store[name].count({})) > 0) return name;
  if ((await store.audit.count({})) > 0) return 'an audit log';
  for (const table of movedTables) {
    const query = { name: `size of ${table}`, sql: `select count(*) as count from ${table}` };
    const [found] = await store.rows.query<{ count: number }>(query);
    if (found && found.count > 0) return `imported rows (${table})`;
  }
  return undefined;
}
