import type { UserRow } from '../../resources/imported-rows.ts';
import type { SearchHit } from '../../resources/search.ts';
import { fold } from '../../store/search-text.ts';
import { findUsers } from '../users/user-rows.ts';
import type { SearchType } from './types.ts';

const ACCESS = { scope: 'users:read', grant: 'user:read', narrows: true } as const;

/** Users of the product are not records of a collection. They are found as list_users finds them, without deleted ones, and ranked here. */
export const productUsers: SearchType = {
  type: 'user',
  access: ACCESS,
  shownBy: ['get_user', 'list_users'],
  async find({ server, principal }, { text, limit, after }) {
    const query = { search: text, uids: principal.rights.limitedTo('user', 'read')?.names };
    const { records } = await findUsers(server.rows, query);
    const hits: SearchHit[] = [];
    let count = 0;
    for (const row of records) {
      const hit = describe(row, text);
      count += 1;
      if (!after || hit.score < after.score || (hit.score === after.score && hit.id < after.id)) hits.push(hit);
    }
    hits.sort((a, b) => b.score - a.score || (a.id < b.id ? 1 : -1));
    return { hits: hits.slice(0, limit), more: hits.length > limit, count };
  },
};

function describe({ uid, email, name, createdAt }: UserRow, query: string): SearchHit {
  const texts = [uid, email, ...(name === undefined ? [] : [name])];
  const snippet = [name, email, uid].filter((text) => text !== undefined).join(' · ');
  return { type: 'user', id: uid, title: name ?? email, snippet, score: scoreOf(texts, query), updatedAt: createdAt };
}

/** The share of the best text that the query makes up. 1 where they are equal. */
function scoreOf(texts: readonly string[], query: string): number {
  const wanted = fold(query);
  if (texts.some((text) => fold(text) === wanted)) return 1;
  const parts = texts.filter((text) => fold(text).includes(wanted)).map((text) => wanted.length / fold(text).length);
  return Math.min(0.999, Math.round(Math.max(0.001, ...parts) * 1e3) / 1e3);
}
