import { recordId } from '../../resources/fields.ts';
import type { UserRow } from '../../resources/imported-rows.ts';
import { refTo } from '../../resources/markers.ts';
import type { RowStore } from '../../store/rows-port.ts';
import type { Fail } from '../core/registry/define-tool.ts';
import { readUser, usersWithEmail } from './user-rows.ts';

export const userId = refTo('user', recordId).describe('Uid or e-mail of a product user, see list_users.');

/** By uid, or by the e-mail that one user has, ignoring case. @throws ToolError */
export async function findUser(rows: RowStore, given: string, fail: Fail<'not_found'>): Promise<UserRow> {
  const found = await readUser(rows, given);
  if (found) return found;
  const named = given.includes('@') ? await usersWithEmail(rows, given) : [];
  if (named.length > 1) {
    const uids = named.map(({ uid }) => uid).join(', ');
    throw fail('invalid_input', `Several users have the e-mail ${given}; give the uid of one of them: ${uids}.`);
  }
  if (named[0]) return named[0];
  throw fail('not_found', `There is no user ${given}; list_users shows the ones you can see.`);
}
