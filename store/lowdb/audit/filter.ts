import { type AuditEntry, recordsOf } from '../../../resources/audit-entry.ts';
import type { AuditFilter } from '../../port.ts';
import type { IndexFilter } from './index.ts';
import { markOf } from './stretch.ts';

export function indexFilter(filter: AuditFilter): IndexFilter {
  const { principal, tool, withoutTools, outcome, door, sessionId } = filter;
  return {
    ...{ principal, tool, withoutTools, outcome, door, sessionId },
    id: markOfWanted(filter.id),
    request: markOfWanted(filter.requestId),
    record: markOfWanted(filter.recordId),
  };
}

function markOfWanted(text: string | undefined): number | undefined {
  return text === undefined ? undefined : markOf(text);
}

/** Whether the index may find entries that do not match, so that each must be read. */
export function needsLook({ id, requestId, recordId }: AuditFilter): boolean {
  return id !== undefined || requestId !== undefined || recordId !== undefined;
}

export function isMeant(entry: AuditEntry, { id, requestId, recordId }: AuditFilter): boolean {
  if (id !== undefined && entry.id !== id) return false;
  if (requestId !== undefined && entry.requestId !== requestId) return false;
  return recordId === undefined || recordsOf(entry).includes(recordId);
}
