import { refs } from '../kinds.ts';

export interface Hit {
  readonly type: string;
  readonly id: string;
  readonly title: string;
  readonly snippet: string;
  readonly parent?: { readonly type: string; readonly id: string };
}

type Members = Readonly<Record<string, unknown>>;

const LONGEST_TITLE = 80;

/** A hit of `search`, or a memory as `search_memories` answers it. */
export function hitOf(row: Members): Hit {
  if (typeof row.snippet === 'string') return foundHit(row, row.snippet);
  const content = String(row.content ?? '');
  const [line = ''] = content.split('\n');
  const title = line.length > LONGEST_TITLE ? `${line.slice(0, LONGEST_TITLE)}…` : line;
  return { type: 'memory', id: String(row.id), title, snippet: content };
}

function foundHit({ type, id, title, parent }: Members, snippet: string): Hit {
  const inside = parent as Hit['parent']; // as `search` answers
  return { type: String(type), id: String(id), title: String(title), snippet, ...(inside && { parent: inside }) };
}

/** The call that reads the record, or the one that it is read with. Undefined if there is none. */
export function readerOf({ type, id, parent }: Hit): { readonly tool: string; readonly input: object } | undefined {
  if (type === 'product-user') return { tool: 'get_user', input: { userId: id } };
  const own = refs[type]?.get;
  if (own) return { tool: own, input: { id } };
  const other = parent && refs[parent.type]?.get;
  return other ? { tool: other, input: { id: parent.id } } : undefined;
}
