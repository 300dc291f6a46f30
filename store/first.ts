import type { Query, Reader } from './port.ts';

/** The first record that `find` would return. For readers that have nothing quicker. */
export async function firstOf<Record>(
  reader: Pick<Reader<Record>, 'find'>,
  query: Omit<Query<Record>, 'limit'>,
): Promise<Record | undefined> {
  return (await reader.find({ ...query, limit: 1 })).records[0];
}
