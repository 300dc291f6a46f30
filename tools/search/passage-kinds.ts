import type { z } from 'zod';
import type { passageType } from '../../resources/document.ts';
import type { Principal } from '../core/access/principal.ts';
import { mayTry } from '../core/access/requirement.ts';
import type { Context } from '../core/registry/context.ts';
import type { Kind } from '../core/registry/define-kind.ts';
import { EMBEDDED, type EmbeddedCollection, TYPES } from '../embeddings/texts.ts';
import { type ReadableFilter, readableBy, type SearchType, searchOf, searchTypesOf } from './types.ts';

type PassageType = z.infer<typeof passageType>;

/** A kind of record whose text is searched for passages. */
export interface PassageKind {
  readonly type: PassageType;
  readonly collection: EmbeddedCollection;
  readonly search: SearchType;
  readable(principal: Principal): ReadableFilter;
}

export function passageKindsOf(kinds: readonly Kind[]): PassageKind[] {
  return kinds.flatMap((kind) => {
    const collection = EMBEDDED.find((name) => name === kind.collection);
    const definition = searchOf(kind.collection);
    const [search] = searchTypesOf([kind]);
    if (!collection || !definition || !search) return [];
    return [{ type: TYPES[collection], collection, search, readable: readableBy(kind, definition) }];
  });
}

type Caller = Pick<Context<never, never>, 'principal' | 'server' | 'fail'>;

/** Whether the caller may read records of the type at all, and has a tool that shows them. */
export function mayFind(
  { principal: { rights, tools }, server: { catalog } }: Caller,
  { access, shownBy }: SearchType,
) {
  if (!mayTry(rights, access)) return false;
  const shows = (name: string) => {
    const shown = catalog.get(name)?.tool;
    return shown !== undefined && tools?.allows(shown) === true;
  };
  return !tools || shownBy.some(shows);
}

export function forbiddenType({ fail }: Caller, { type, access: { scope, grant } }: SearchType) {
  return fail('forbidden', 'Insufficient permissions', {
    required: { scope, grant: [grant].flat().join(', ') },
    issues: [{ path: 'types', message: `You may not read records of type ${type}; leave it out.` }],
  });
}

/** The tool itself shows documents. @throws ToolError (forbidden) */
export function requireReadable(asked: readonly PassageKind[], caller: Caller): void {
  const refused = asked.find(({ type, search }) => type !== 'document' && !mayFind(caller, search));
  if (refused) throw forbiddenType(caller, refused.search);
}
