import { pathOf } from '../kinds.ts';
import { Link } from './small.tsx';

/** Who called, as the audit log and runs name them. */
export type CallerRef = Readonly<{ type: string; id: string; name: string }>;

/** A caller by the name of then, leading to its page if there is one. */
export function Caller({ caller: { type, id, name } }: { readonly caller: CallerRef }) {
  const path = pathOf(id);
  return (
    <>
      {path === undefined ? name : <Link to={path}>{name}</Link>} <span class="faint">{type}</span>
    </>
  );
}
