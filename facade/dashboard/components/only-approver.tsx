import { useAnswer } from '../answer-cache.ts';
import { useMay } from '../tools.ts';
import type { ListAnswer } from '../use-paged-list.ts';
import { Link } from './small.tsx';

/** Whether this is the only person of the workspace, as far as they may know. Asked only if `isWanted`. */
export function useAlone(isWanted = true): boolean {
  const may = useMay('list_admin_users') && isWanted;
  const { data } = useAnswer<ListAnswer<unknown>>(may ? 'list_admin_users' : undefined, { isActive: true, limit: 2 });
  return data?.data.length === 1;
}

/** Where people with every right to decide are invited. */
export const INVITE_DECIDER = '/people/new?access=full';

/** Beside what asks a person first, where there is only the one for whom it acts. */
export function NobodyApproves() {
  if (!useAlone()) return null;
  return (
    <p class="note warn">
      Nobody else can approve yet, so such calls would wait in vain. <Link to={INVITE_DECIDER}>Invite somebody</Link>
    </p>
  );
}
