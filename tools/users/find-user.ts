import { recordId } from '../../resources/fields.ts';
import type { UserRow } from '../../resources/imported-rows.ts';
import { refTo } from '../../resources/markers.ts';
import type { ImportedModel } from '../analytics/exports.ts';
import type { Fail } from '../registry/define-tool.ts';

export const userId = refTo('user', recordId).describe('Uid of a product user, see list_users.');

export function findUser(model: ImportedModel, uid: string, fail: Fail<'not_found'>): UserRow {
  const found = model.users.get(uid);
  if (!found) throw fail('not_found', `There is no user ${uid}; list_users shows the ones you can see.`);
  return found;
}
