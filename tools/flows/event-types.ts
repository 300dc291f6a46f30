import { collections } from '../../store/collections.ts';
import type { RecordChange } from '../../store/port.ts';
import type { RecordKind } from '../registry/kind.ts';

const HAPPENS = { created: 'was created', updated: 'was changed', deleted: 'was deleted' } as const;

/** A type of event that a flow can wait for. */
interface EventType {
  readonly type: string;
  readonly description: string;
  /** Of the records that it happens to. */
  readonly recordType: string;
}

/** Every type of event: what happens to records of these kinds. */
export function eventTypesOf(kinds: readonly RecordKind[]): EventType[] {
  return kinds.flatMap(({ type: recordType, collection, event }) => {
    if (!event) return [];
    const { appendOnly } = collections[collection];
    const happenings = Object.entries(HAPPENS).filter(([what]) => what !== 'updated' || !appendOnly);
    return happenings.map(([what, happened]) => ({
      type: `${event.name}.${what}`,
      description: `${event.words} ${happened}.`,
      recordType,
    }));
  });
}

/** Something that happened to a record. */
export interface RecordEvent {
  readonly type: string;
  readonly id: string;
  readonly record: RecordChange['record'];
  /** What a caller needs to see the event: the right to read the record. */
  readonly need: { readonly scope: string; readonly resource: string; readonly ids: readonly string[] };
}

export function eventOf(
  { kind: changed, collection, record }: RecordChange,
  kinds: readonly RecordKind[],
): RecordEvent | undefined {
  const kind = kinds.find((each) => each.collection === collection);
  if (!kind?.event) return undefined;
  // A deleted agent is kept with the status `deleted`.
  const what = changed === 'updated' && record.status === 'deleted' ? 'deleted' : changed;
  const ids = kind.names.flatMap((name) => (typeof record[name] === 'string' ? [record[name]] : []));
  const { scope, resource } = kind;
  return { type: `${kind.event.name}.${what}`, id: record.id, record, need: { scope, resource, ids } };
}
