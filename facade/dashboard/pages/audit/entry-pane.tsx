import { exactTime, type ListAnswer, useAnswer, usePlace } from '../../app.ts';
import {
  Badge,
  Caller,
  Empty,
  ErrorBox,
  Json,
  Link,
  LinkButton,
  Mono,
  NamedValue,
  Ref,
  Skeleton,
  Time,
} from '../../ui.ts';
import type { Entry } from './entry.tsx';

interface EntryPaneProps {
  readonly id: string;
  /** The entry, where it is in the list as far as that is loaded. */
  readonly listed: Entry | undefined;
  /** What the list beside it asks for. */
  readonly asked: object;
  readonly back: string;
}

/** One call in full, whatever the filters of the list are. */
export function EntryPane({ id, listed, asked, back }: EntryPaneProps) {
  const { data, error } = useAnswer<ListAnswer<Entry>>(listed ? undefined : 'list_audit_entries', { id });
  const entry = listed ?? data?.data[0];
  return (
    <section class="detail-pane" aria-label={entry?.tool}>
      <header class="detail-bar">
        <LinkButton look="quiet" icon="back" label="All entries" to={back} />
        <Mono>{id}</Mono>
      </header>
      {error && <ErrorBox error={error} />}
      {entry && !listed && <WhyNotListed entry={entry} asked={asked} />}
      {entry ? (
        <Call entry={entry} />
      ) : (
        !error && (data ? <Empty title="There is no such entry">{GONE}</Empty> : <Skeleton lines={6} />)
      )}
    </section>
  );
}

const GONE = 'Entries are deleted after the time that the settings give.';

/** Says nothing where the entry is further down than the list is loaded. */
function WhyNotListed({ entry: { id }, asked }: { readonly entry: Entry; readonly asked: object }) {
  const only = { ...asked, id };
  const { data: found } = useAnswer<ListAnswer<Entry>>('list_audit_entries', only);
  const { data: withReads } = useAnswer<ListAnswer<Entry>>('list_audit_entries', { ...only, changes: false });
  const query = new URLSearchParams(usePlace().query);
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
function Call({ entry }: { readonly entry: Entry }) {
  return (
    <>
      <div class="detail-title">
        <h1>
          {entry.tool} <Badge value={entry.outcome}>{entry.code ?? 'OK'}</Badge>
        </h1>
      </div>
      <dl class="fields">
        <NamedValue name="When">
          <Time at={entry.at} /> <span class="faint">{exactTime(entry.at)}</span>
        </NamedValue>
        <NamedValue name="Who">
          <Who caller={entry.principal} />
        </NamedValue>
        {entry.onBehalfOf?.map((caller) => (
          <NamedValue key={caller.id} name="For">
            <Who caller={caller} />
          </NamedValue>
        ))}
        <NamedValue name="Via">{entry.door}</NamedValue>
        <NamedValue name="Duration">{Math.round(entry.durationMs * 10) / 10} ms</NamedValue>
        <NamedValue name="Request">
          <Follow name="requestId" value={entry.requestId} />
        </NamedValue>
        {entry.sessionId !== undefined && (
          <NamedValue name="Session">
            <Follow name="sessionId" value={entry.sessionId} />
          </NamedValue>
        )}
        {entry.recordIds?.map((id) => (
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

function Who({ caller }: { readonly caller: Entry['principal'] }) {
  return (
    <>
      <Caller caller={caller} /> <Follow name="principal" value={caller.id} words="their calls" />
    </>
  );
}

/** All entries with the same value. */
function Follow({ name, value, words }: { readonly name: string; readonly value: string; readonly words?: string }) {
  return <Link to={`/audit?${name}=${encodeURIComponent(value)}`}>{words ?? value}</Link>;
}
