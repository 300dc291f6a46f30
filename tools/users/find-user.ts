import { recordId } from '../../resources/fields.ts';
import type { UserRow } from '../../resources/imported-rows.ts';
import { refTo } from '../../resources/markers.ts';
import type { RowStore } from '../../store/rows-port.ts';
import type { Fail } from '../registry/define-tool.ts';
import { readUser } from './user-rows.ts';

export const userId = refTo('user', recordId).describe('Uid of a product user, see list_users.');

export async function findUser(rows: RowStore, uid: string, fail: Fail<'not_found'>): Promise<UserRow> {
  const found = await readUser(rows, uid);
  if (!found) throw fail('not_found', `There is no user ${uid}; list_users shows the ones you can see.`);
  return found;
}
