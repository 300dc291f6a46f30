import { z } from 'zod';
import { noNextPage } from '../../resources/fields.ts';
import { collections } from '../../store/collections.ts';
import type { RecordChange } from '../../store/port.ts';
import type { Principal } from '../core/access/principal.ts';
import { guardedAmong, isGuarded, isSeen, isThreadSeen } from '../core/access/visibility.ts';
import type { EventNames, RecordKind, VisibilityContext } from '../core/kind.ts';
import { defineTool, READS } from '../core/registry/define-tool.ts';

const HAPPENS = { created: 'was created', updated: 'was changed', deleted: 'was deleted' } as const;

interface EventType {
  readonly type: string;
  readonly description: string;
  /** Of the records that it happens to. */
  readonly recordType: string;
}

export function eventTypesOf(kinds: readonly RecordKind[]): EventType[] {
  return kinds.flatMap(({ type: recordType, collection, event }) => {
    if (!event) return [];
    const { appendOnly } = collections[collection];
    const usual = Object.entries(HAPPENS).filter(([what]) => what !== 'updated' || !appendOnly);
    const happenings = Object.entries(event.only ?? { ...Object.fromEntries(usual), ...event.also });
    return happenings.map(([what, happened]) => ({
      type: `${event.name}.${what}`,
      description: `${event.words} ${happened}.`,
      recordType,
    }));
  });
}

export interface RecordEvent {
  readonly type: string;
  readonly id: string;
  readonly record: RecordChange['record'];
  /** What a caller needs to see the event: the right to read the record. */
  readonly need: ReadNeed;
}

export interface ReadNeed {
  readonly scope: string;
  readonly resource: string;
  readonly ids: readonly string[];
}

export function eventOf(
  { kind: changed, collection, record }: RecordChange,
  kinds: readonly RecordKind[],
): RecordEvent | undefined {
  const kind = kinds.find((each) => each.collection === collection);
  if (!kind?.event) return undefined;
  const what = whatHappened(kind.event, record, changed);
  if (what === undefined) return undefined;
  const ids = kind.names.flatMap((name) => (typeof record[name] === 'string' ? [record[name]] : []));
  const { scope, resource } = kind;
  return { type: `${kind.event.name}.${what}`, id: record.id, record, need: { scope, resource, ids } };
}

function whatHappened(
  { only, whichOf }: EventNames,
  record: RecordChange['record'],
  changed: RecordChange['kind'],
): string | undefined {
  const named = () => whichOf?.(record as never, changed); // of the kind's own collection
  if (only) return named();
  if (changed !== 'updated') return changed;
  // A deleted agent is kept with the status `deleted`.
  return record.status === 'deleted' ? 'deleted' : (named() ?? 'updated');
}

/** Whether the principal may see the record now and could at the event. Of a deleted one, `record` is what is known of then, and decides. */
export async function maySee(
  {
    need,
    record,
  }: { readonly need: ReadNeed; readonly record: Readonly<Record<string, unknown>> & { readonly id: string } },
  principal: Principal,
  seeing: VisibilityContext,
): Promise<boolean> {
  const { store, kinds } = seeing;
  const { scope, resource, ids } = need;
  if (!principal.rights.allows({ scope, needs: [{ resource, op: 'read', ids, record }] })) return false;
  const kind = kinds.find((each) => each.sees && each.resource === resource);
  if (kind?.sees) {
    const found = await store[kind.collection].get(record.id);
    if (!found || !(await kind.sees(found as never, principal, seeing))) return false; // of the kind's own collection
  }
  if (isGuarded(record) && !isSeen(record, principal)) return false;
  const guarded = await guardedAmong(store, [record.id]);
  if (!guarded.every((found) => isSeen(found, principal))) return false;
  if (isGuarded(record) || typeof record.threadId !== 'string') return true;
  return isThreadSeen(store, record.threadId, principal);
}

export const listEventTypes = defineTool({
  name: 'list_event_types',
  title: 'List event types',
  description:
    'List the types of event that can start a flow, as its trigger {"kind": "event", "type"}. Each run gets the type and the record\'s id as `input`.',
  keywords: 'events that can start an automation, triggers available, what can I react to, subscribe',
  access: { scope: 'flows:read', grant: 'flow:read' },
  annotations: READS,
  input: z.strictObject({}),
  output: z.object({
    data: z.array(
      z.object({
        type: z.string(),
        description: z.string(),
        recordType: z.string().describe('Of the records that it happens to.'),
      }),
    ),
    nextCursor: noNextPage,
  }),
  errors: [],

  handler: async (_, { server }) => ({ data: eventTypesOf(server.kinds), nextCursor: null }),
});
