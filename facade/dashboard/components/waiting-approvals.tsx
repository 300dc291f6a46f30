import type { Approval } from '../../../resources/approval.ts';
import { useAnswer } from '../answer-cache.ts';
import { useLive } from '../live-updates.ts';
import { HOME } from '../pages/home/first-calls.ts';
import { at } from '../router.ts';
import { useMay } from '../tools.ts';
import type { ListAnswer } from '../use-paged-list.ts';
import { Icon } from './icon.tsx';
import { useAlone } from './only-approver.tsx';

/** One call for all that shows it. */
const [, DECIDABLE] = HOME.approvals;
const MOST_COUNTED = 99;

/** `stuck`: nobody can decide them. */
export type CountedList = Readonly<{ waiting: readonly Approval[]; count: number; stuck: boolean }>;

/** In a workspace of one person: what that person may not decide waits for somebody to be invited. */
const ALL = { status: 'waiting', limit: 5, includeTotal: true };

/** The calls that wait for a decision of this person, or that nobody can decide: the newest, and how many there are. */
export function useDecidable(): CountedList {
  const may = useMay('decide_approval') && useMay('list_approvals');
  useLive(may ? ['approval://'] : []);
  const { data } = useAnswer<ListAnswer<Approval>>(may ? 'list_approvals' : undefined, DECIDABLE);
  const alone = useAlone(data?.total === 0);
  const { data: all } = useAnswer<ListAnswer<Approval>>(may && alone ? 'list_approvals' : undefined, ALL);
  const stuck = data?.total === 0 && (all?.total ?? 0) > 0;
  const { data: waiting = [], total: count = 0 } = (stuck ? all : data) ?? {};
  return { waiting, count, stuck };
}

/** How many, beside the entry of the navigation. */
export function ApprovalCount() {
  const { count, stuck } = useDecidable();
  if (count === 0) return null;
  return (
    <span class="nav-count">
      {shown(count)}
      <span class="visually-hidden"> {waitWords(count, stuck)}</span>
    </span>
  );
}

/** The same where the navigation is folded away. */
export function ApprovalsLink() {
  const { count, stuck } = useDecidable();
  if (count === 0) return null;
  return (
    <a class="button quiet" href={at(WAITING)} aria-label={`${shown(count)} ${waitWords(count, stuck)}`}>
      <Icon name="shield" />
      <span class="nav-count">{shown(count)}</span>
    </a>
  );
}

const WAITING = '/approvals?status=waiting';

function shown(count: number): string {
  return count > MOST_COUNTED ? `${MOST_COUNTED}+` : String(count);
}

function waitWords(count: number, stuck: boolean): string {
  if (stuck) return count === 1 ? 'waits, and nobody can decide it' : 'wait, and nobody can decide them';
  return count === 1 ? 'waits for your decision' : 'wait for your decision';
}
