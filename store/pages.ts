import type { Query, Reader } from './port.ts';

/** All records that match, a page of `limit` at a time. */
export async function* pagesOf<Record>(
  reader: Pick<Reader<Record>, 'find'>,
  query: Query<Record>,
): AsyncGenerator<readonly Record[], void> {
  for (let { after } = query; ; ) {
    const { records, next } = await reader.find({ ...query, after });
    yield records;
    if (!next) return;
    after = next;
  }
}
