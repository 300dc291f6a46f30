import { useState } from 'preact/hooks';
import type { Approval } from '../../../resources/approval.ts';
import { act, useAnswer, useLocation, usePagedList, useTool, wordOf } from '../app.ts';
import { boot } from '../boot.ts';
import { ChangedValue } from '../components/diff.tsx';
import { FilterChoice } from '../components/filters.tsx';
import { endAllDrafts } from '../components/form/draft.tsx';
import { optionsOf } from '../components/form/select.tsx';
import { INVITE_DECIDER } from '../components/only-approver.tsx';
import { labelOf } from '../format.ts';
import { useLive } from '../live-updates.ts';
import { at } from '../router.ts';
import {
  Badge,
  Button,
  Caller,
  Callers,
  type Column,
  DetailBar,
  Empty,
  ErrorBox,
  Facts,
  Link,
  LinkButton,
  Mono,
  PagedTable,
  PageHead,
  Ref,
  Skeleton,
  Time,
  toast,
  useAction,
  Value,
} from '../ui.ts';

export function Page() {
  useLive(['approval://']);
  const { query, parts } = useLocation();
  const [, open] = parts;
  const schema = useTool('list_approvals')?.inputSchema;
  const status = query.get('status') ?? '';
  const kept = status && `?status=${encodeURIComponent(status)}`;
  return (
    <div class={open === undefined ? 'kind' : 'kind with-detail'}>
      <section class="list-pane" aria-label="Approvals">
        <PageHead title="Approvals">{status !== '' && <LinkButton text="Clear filters" to="/approvals" />}</PageHead>
        <div class="filters">
          <FilterChoice name="status" label="Status" options={optionsOf(schema?.properties?.status?.enum)} />
        </div>
        <List status={status} to={(id) => `/approvals/${encodeURIComponent(id)}${kept}`} picked={open} />
      </section>
      {open !== undefined && <Pane key={open} id={open} back={`/approvals${kept}`} />}
    </div>
  );
}

type ListProps = Readonly<{ status: string; to: (id: string) => string; picked: string | undefined }>;

function List({ status, to, picked }: ListProps) {
  const pages = usePagedList<Approval>('list_approvals', { limit: 50, ...(status !== '' && { status }) });
  const columns: readonly Column<Approval>[] = [
    {
      title: 'Call',
      cell: ({ id, tool }) => (
        <Link to={to(id)}>
          <ToolTitle name={tool} />
        </Link>
      ),
    },
    { title: 'Status', cell: (each) => <Badge value={each.status} /> },
    { title: 'Asked by', cell: ({ by }) => <Caller caller={by} />, hidePriority: 1 },
    { title: 'Asked', cell: ({ createdAt }) => <Time at={createdAt} />, hidePriority: 2 },
  ];
  const none = (
    <Empty title={status === '' ? 'No call has asked a person' : 'None with this status'}>
      Agents, flows, connections, capsules, API keys and connected apps can be told to ask a person first, before some
      of their calls.
    </Empty>
  );
  return <PagedTable {...{ columns, pages, none, picked }} label="Approvals" keyOf={({ id }) => id} />;
}

function Pane({ id, back }: { readonly id: string; readonly back: string }) {
  const { data, error } = useAnswer<Approval>('get_approval', { id });
  return (
    <section class="detail-pane" aria-label="Approval">
      <DetailBar all="approvals" to={back} id={id} />
      {error ? <ErrorBox error={error} /> : data ? <Body approval={data} /> : <Skeleton lines={8} />}
    </section>
  );
}

function Body({ approval }: { readonly approval: Approval }) {
  const {
    tool,
    status,
    by,
    onBehalfOf,
    expiresAt,
    createdAt,
    decidedBy,
    decidedAt,
    note,
    problem,
    code,
    ranAt,
    reaches,
  } = approval;
  const decided = decidedBy && decidedAt !== undefined && (
    <>
      <Caller caller={decidedBy} /> <Time at={decidedAt} />
    </>
  );
  return (
    <>
      <div class="detail-title">
        <h1>
          <ToolTitle name={tool} /> <Badge value={status} />
        </h1>
      </div>
      {problem !== undefined && (
        <p class="note warn" role="note">
          {problem}
        </p>
      )}
      <Facts
        of={{
          Reaches: reaches,
          'Asked by': <Callers caller={by} onBehalfOf={onBehalfOf} />,
          Asked: <Time at={createdAt} />,
          'Can be decided until': status === 'waiting' && <Time at={expiresAt} />,
          'Decided by': decided,
          Note: note,
          Ran: ranAt !== undefined && <Time at={ranAt} />,
          'It answered': code && wordOf(code),
        }}
      />
      <h2>Arguments</h2>
      <Value value={approval.arguments} />
      <Changes approval={approval} />
      {status === 'waiting' && <Deciding approval={approval} />}
    </>
  );
}

/** The tool of a call in words, as far as the person has it. */
function ToolTitle({ name }: { readonly name: string }) {
  return <>{useTool(name)?.title ?? name}</>;
}

function Changes({ approval: { wouldChange } }: { readonly approval: Approval }) {
  if (!wouldChange) return null;
  return (
    <>
      <h2>What it would change</h2>
      {wouldChange.length === 0 && <p class="quiet">Nothing that you may read.</p>}
      {wouldChange.map(({ id, change, before, after }) => (
        <div key={id}>
          <p class="actions">
            <span>{wordOf(change)}</span> {change === 'create' ? <Mono>{id}</Mono> : <Ref id={id} />}
          </p>
          {changed(before, after).map((name) => (
            <div key={name}>
              <p class="quiet">{labelOf(name)}</p>
              <ChangedValue before={before?.[name]} after={after?.[name]} />
            </div>
          ))}
        </div>
      ))}
    </>
  );
}

type State = Readonly<Record<string, unknown>> | undefined;

/** The members that would differ. */
function changed(before: State, after: State): string[] {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])];
  return names.filter((name) => JSON.stringify(before?.[name]) !== JSON.stringify(after?.[name]));
}

/** The decision, or why it is not this person's. */
function Deciding({ approval: { id, by, mayDecide, whyNot, undecidable } }: { readonly approval: Approval }) {
  return (
    <>
      <h2>Your decision</h2>
      {mayDecide ? (
        <Decision id={id} />
      ) : whyNot !== undefined ? (
        <SignInAnew why={whyNot} />
      ) : undecidable ? (
        <Nobody by={by} />
      ) : (
        <p class="note">{SOMEBODY_ELSE}</p>
      )}
    </>
  );
}

/** Whoever came by a link of who asks decides once they have signed in by themselves. */
function SignInAnew({ why }: { readonly why: string }) {
  return (
    <div class="note warn stack" role="note">
      <p>{why}</p>
      <form class="actions" method="post" action={at('/sign-out')} onSubmit={endAllDrafts}>
        <input type="hidden" name="form" value={boot.formToken} />
        <LinkButton text="Add a passkey" to="/account" />
        <Button type="submit" text="Sign out, then in anew" />
      </form>
    </div>
  );
}

const SOMEBODY_ELSE =
  'You cannot decide this call: you or something that acts for you asked for it, or you may not make it yourself. Somebody else can.';

/** A workspace with one person, or in which nobody else has the rights. */
function Nobody({ by }: Pick<Approval, 'by'>) {
  return (
    <div class="note warn stack" role="note">
      <p>
        <strong>Nobody here can decide this call.</strong> Whoever approves it must be independent of who asks and of
        whom that acts for, and have the right to make the call. Nobody in this workspace is both.
      </p>
      <p>
        Invite a colleague who may decide, or have <Caller caller={by} /> no longer ask before this call.
      </p>
      <div class="actions">
        <LinkButton needs="create_admin_user" text="Invite a colleague" look="primary" to={INVITE_DECIDER} />
      </div>
    </div>
  );
}

function Decision({ id }: { readonly id: string }) {
  const [note, setNote] = useState('');
  const action = useAction();
  const decide = (decision: 'approve' | 'reject', said: string) =>
    void action.run(async () => {
      const given = note.trim();
      await act('decide_approval', { id, decision, ...(given !== '' && { note: given }) });
      toast(said);
    });
  return (
    <div class="confirm">
      <label class="field">
        <span class="label">Note for who asked</span>
        <input class="input" value={note} maxLength={2000} onInput={(event) => setNote(event.currentTarget.value)} />
      </label>
      {action.error !== undefined && <ErrorBox error={action.error} />}
      <div class="actions">
        <Button
          text="Approve"
          look="primary"
          busy={action.busy}
          onClick={() => decide('approve', 'Approved. The call runs now.')}
        />
        <Button text="Reject" busy={action.busy} onClick={() => decide('reject', 'Rejected. The call does not run.')} />
      </div>
    </div>
  );
}
