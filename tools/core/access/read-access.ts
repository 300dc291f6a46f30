import type { GuardedTool } from './guarded-tool.ts';
import type { Principal } from './principal.ts';
import { mayCall } from './reach.ts';
import { subjectOf } from './subjects.ts';
import { isGuarded, isSeen } from './visibility.ts';

type StoredRecord = { readonly id: string; readonly [member: string]: unknown };

/** Whether the principal may read the record by its read tool with this input. Makes no call, and works for a deleted record too. */
export async function mayRead(
  principal: Principal,
  tool: GuardedTool,
  input: object,
  record: StoredRecord,
): Promise<boolean> {
  const fixed = principal.tools?.fixed?.(tool) ?? {};
  if (Object.keys(fixed).some((name) => Object.hasOwn(input, name))) return false;
  if (!(await mayCall(principal, tool, { ...input, ...fixed }, async (resource) => subjectOf(resource, record))))
    return false;
  return !isGuarded(record) || isSeen(record, principal);
}
