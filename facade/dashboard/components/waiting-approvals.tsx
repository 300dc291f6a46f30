import type { Approval } from '../../../resources/approval.ts';
import { useLive } from '../live-updates.ts';
import { at } from '../router.ts';
import { useAnswer } from '../store.ts';
import { useMay, useTool } from '../tools.ts';
import type { ListAnswer } from '../use-paged-list.ts';
import { Icon } from './icon.tsx';
import { Avatar, Link, Time } from './small.tsx';

/** One call for all that shows it. */
const DECIDABLE = { decidable: true, limit: 5, includeTotal: true };
const MOST_COUNTED = 99;

/** The calls that wait for a decision of this person: the newest, and how many there are. */
function useDecidable(): { readonly waiting: readonly Approval[]; readonly count: number } {
  const may = useMay('decide_approval') && useMay('list_approvals');
  useLive(may ? ['approval://'] : []);
  const { data } = useAnswer<ListAnswer<Approval>>(may ? 'list_approvals' : undefined, DECIDABLE);
  return { waiting: data?.data ?? [], count: data?.total ?? 0 };
}

/** How many, beside the entry of the navigation. */
export function ApprovalCount() {
  const { count } = useDecidable();
  if (count === 0) return null;
  return (
    <span class="nav-count">
      {shown(count)}
      <span class="visually-hidden"> {waitWords(count)}</span>
    </span>
  );
}

/** The same where the navigation is folded away. */
export function ApprovalsLink() {
  const { count } = useDecidable();
  if (count === 0) return null;
  return (
    <a class="button quiet" href={at(WAITING)} aria-label={`${shown(count)} ${waitWords(count)}`}>
      <Icon name="shield" />
      <span class="nav-count">{shown(count)}</span>
    </a>
  );
}

/** Who asks for what, for the home page. */
export function WaitsForYou() {
  const { waiting, count } = useDecidable();
  if (count === 0) return null;
  return (
    <section class="card" aria-labelledby="waits">
      <header class="card-head">
        <h2 id="waits">
          Waits for you <span class="card-count">{count}</span>
        </h2>
        <Link to={WAITING}>Approvals</Link>
      </header>
      <ul class="happened">
        {waiting.map((approval) => (
          <li key={approval.id}>
            <Row approval={approval} />
          </li>
        ))}
      </ul>
    </section>
  );
}

const WAITING = '/approvals?status=waiting';

function Row({ approval: { id, tool, by, createdAt } }: { readonly approval: Approval }) {
  const title = useTool(tool)?.title ?? tool;
  return (
    <a class="happened-row" href={at(`/approvals/${encodeURIComponent(id)}`)}>
      <Avatar name={by.name} size="s" />
      <span class="happened-words">
        <strong>{by.name}</strong> asks: {title}
      </span>
      <span class="happened-time">
        <Time at={createdAt} />
      </span>
    </a>
  );
}

function shown(count: number): string {
  return count > MOST_COUNTED ? `${MOST_COUNTED}+` : String(count);
}

function waitWords(count: number): string {
  return count === 1 ? 'waits for your decision' : 'wait for your decision';
}
