import type { NamedType } from '../../../resources/markers.ts';
import type { Reader, Readers } from '../../../store/port.ts';

interface NamedRecord {
  readonly id: string;
  readonly name: string;
  readonly [member: string]: unknown;
}

const COLLECTIONS = { agent: 'agents', skill: 'skills', flow: 'flows' } as const satisfies Record<NamedType, string>;

/** A deleted agent keeps its record, and its name is free for another one. */
const CURRENT = { agent: { status: ['active', 'paused'] }, skill: {}, flow: {} } as const;

/** This many records of one name are looked at. */
const MOST_ALIKE = 100;

/** The records of the type that have this name, whoever may see them. Names are stored with composed characters. */
export async function recordsNamed(
  type: NamedType,
  text: string,
  store: Pick<Readers, 'agents' | 'skills' | 'flows'>,
): Promise<readonly NamedRecord[]> {
  const where = { name: text.trim().normalize('NFC'), ...CURRENT[type] };
  const reader: Pick<Reader<NamedRecord & { readonly status?: unknown }>, 'find'> = store[COLLECTIONS[type]];
  return (await reader.find({ where, limit: MOST_ALIKE })).records;
}
