import type { AuditEntry } from '../../../../resources/audit-entry.ts';
import { callerWord, exactTime, type ListAnswer, labelOf, useAnswer, useLocation, wordOf } from '../../app.ts';
import {
  Avatar,
  Badge,
  Caller,
  type Column,
  DetailBar,
  Empty,
  ErrorBox,
  Json,
  Link,
  LinkButton,
  Mono,
  NameAndMore,
  NamedValue,
  Ref,
  Skeleton,
  Time,
} from '../../ui.ts';
import { time } from '../usage/numbers.ts';
import { DOORS } from './doors.ts';

export const COLUMNS: readonly Column<AuditEntry>[] = [
  {
    title: 'Tool',
    cell: ({ tool, principal, outcome, code }) => (
      <span class="name-words">
        <Mono>{tool}</Mono>
        <span class="name-more by">
          {principal.name} {outcome !== 'ok' && <Outcome {...{ outcome, code }} />}
        </span>
      </span>
    ),
  },
  {
    title: 'Who',
    cell: ({ principal: { name, type } }) => (
      <span class="name">
        <Avatar name={name} size="s" />
        <NameAndMore name={name}>{callerWord(type)}</NameAndMore>
      </span>
    ),
    hidePriority: 2,
  },
  {
    title: 'Outcome',
    cell: Outcome,
    hidePriority: 2,
    width: '12rem',
  },
  { title: 'Via', cell: ({ door }) => DOORS[door] ?? door, hidePriority: 2 },
  { title: 'Took', cell: ({ durationMs }) => time(durationMs), alignEnd: true, hidePriority: 3 },
  { title: 'When', cell: ({ at }) => <Time at={at} />, alignEnd: true },
];

function Outcome({ outcome, code }: Pick<AuditEntry, 'outcome' | 'code'>) {
  if (code === 'approval_required') return <Badge value={code} />;
  return <Badge value={outcome}>{wordOf(code ?? outcome)}</Badge>;
}

interface EntryPaneProps {
  readonly id: string;
  /** The entry, where it is in the list as far as that is loaded. */
  readonly listed: AuditEntry | undefined;
  readonly asked: object;
  readonly back: string;
}

/** One call in full, whatever the filters of the list are. */
export function EntryPane({ id, listed, asked, back }: EntryPaneProps) {
  const { data, error } = useAnswer<ListAnswer<AuditEntry>>(listed ? undefined : 'list_audit_entries', { id });
  const entry = listed ?? data?.data[0];
  const gone = <Empty title="There is no such entry">Entries are deleted after the time that the settings give.</Empty>;
  return (
    <section class="detail-pane" aria-label={entry?.tool}>
      <DetailBar all="entries" to={back} id={id} />
      {error && <ErrorBox error={error} />}
      {entry && !listed && <WhyNotListed id={entry.id} asked={asked} />}
      {entry ? <Call entry={entry} /> : !error && (data ? gone : <Skeleton lines={6} />)}
    </section>
  );
}

/** Says nothing where the entry is further down than the list is loaded. */
function WhyNotListed({ id, asked }: { readonly id: string; readonly asked: object }) {
  const only = { ...asked, id };
  const { data: found } = useAnswer<ListAnswer<AuditEntry>>('list_audit_entries', only);
  const { data: withReads } = useAnswer<ListAnswer<AuditEntry>>('list_audit_entries', { ...only, changes: false });
  const query = new URLSearchParams(useLocation().query);
  query.set('changes', 'false');
  if (!found || !withReads || found.data.length > 0) return null;
  const path = `/audit/${encodeURIComponent(id)}`;
  const onlyReads = withReads.data.length > 0;
  return (
    <div class="section-head">
      <p class="note" role="note">
        {onlyReads
          ? 'The call only read, and the list leaves such calls out.'
          : 'The filters leave it out of the list.'}
      </p>
      <LinkButton
        text={onlyReads ? 'Show reads' : 'Clear filters'}
        to={onlyReads ? `${path}?${query}` : `${path}?changes=false`}
      />
    </div>
  );
}

/** The ways on: its request, its caller, its records, its session. */
function Call({ entry }: { readonly entry: AuditEntry }) {
  const { at, principal, onBehalfOf = [], door, durationMs, requestId, sessionId, recordIds = [] } = entry;
  return (
    <>
      <div class="detail-title">
        <h1>
          {entry.tool} <Outcome {...entry} />
        </h1>
      </div>
      <dl class="fields">
        <NamedValue name="When">
          <Time at={at} /> <span class="faint">{exactTime(at)}</span>
        </NamedValue>
        {[principal, ...onBehalfOf].map((caller, index) => (
          <NamedValue key={caller.id} name={index === 0 ? 'Who' : 'For'}>
            <Caller caller={caller} /> <Follow name="principal" value={caller.id} words="their calls" />
          </NamedValue>
        ))}
        <NamedValue name="Via">{DOORS[door] ?? door}</NamedValue>
        <NamedValue name="Duration">{time(durationMs)}</NamedValue>
        {Object.entries({ requestId, sessionId }).map(
          ([name, value]) =>
            value !== undefined && (
              <NamedValue key={name} name={labelOf(name)}>
                <Follow name={name} value={value} />
              </NamedValue>
            ),
        )}
        {recordIds.map((id) => (
          <NamedValue key={id} name="Record">
            <Ref id={id} /> <Follow name="recordId" value={id} words="its calls" />
          </NamedValue>
        ))}
      </dl>
      <h2>Arguments</h2>
      <Json value={entry.arguments} label="Arguments" />
    </>
  );
}

/** All entries with the same value. */
function Follow({ name, value, words = value }: Readonly<{ name: string; value: string; words?: string }>) {
  return (
    <Link to={`/audit?${name}=${encodeURIComponent(value)}`}>
      <span class="anywhere">{words}</span>
    </Link>
  );
}
