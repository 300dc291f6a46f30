import { LinkButton } from '../../components/button.tsx';
import { Json } from '../../components/code.tsx';
import { Badge, Empty, Link, Mono, Time } from '../../components/small.tsx';
import { Ref } from '../../components/value.tsx';
import { Skeleton } from '../../components/waiting.tsx';
import { exactTime } from '../../format.ts';
import type { Caller, Entry } from './entry.tsx';

/** One call in full, with the ways on: its request, its caller, its records, its session. */
export function EntryPane({
  entry,
  loading,
  back,
}: {
  readonly entry: Entry | undefined;
  readonly loading: boolean;
  readonly back: string;
}) {
  if (!entry) {
    return (
      <section class="detail-pane">
        {loading ? (
          <Skeleton lines={6} />
        ) : (
          <Empty
            title="The entry is not in this list"
            action={<LinkButton to="/audit?changes=false">All entries</LinkButton>}
          />
        )}
      </section>
    );
  }
  return (
    <section class="detail-pane" aria-label={entry.tool}>
      <header class="detail-bar">
        <LinkButton look="quiet" icon="back" label="All entries" to={back} />
        <Mono>{entry.id}</Mono>
      </header>
      <div class="detail-title">
        <h1>
          {entry.tool} <Badge value={entry.outcome}>{entry.code ?? 'OK'}</Badge>
        </h1>
      </div>
      <dl class="fields">
        <Field name="When">
          <Time at={entry.at} /> <span class="faint">{exactTime(entry.at)}</span>
        </Field>
        <Field name="Who">
          <Who caller={entry.principal} />
        </Field>
        {entry.onBehalfOf?.map((caller) => (
          <Field key={caller.id} name="For">
            <Who caller={caller} />
          </Field>
        ))}
        <Field name="Door">{entry.door}</Field>
        <Field name="Took">{Math.round(entry.durationMs * 10) / 10} ms</Field>
        <Field name="Request">
          <Follow name="requestId" value={entry.requestId} />
        </Field>
        {entry.sessionId !== undefined && (
          <Field name="Session">
            <Follow name="sessionId" value={entry.sessionId} />
          </Field>
        )}
        {entry.recordIds?.map((id) => (
          <Field key={id} name="Record">
            <Ref id={id} /> <Follow name="recordId" value={id} words="its calls" />
          </Field>
        ))}
      </dl>
      <h2>Arguments</h2>
      <Json value={entry.arguments} label="Arguments" />
    </section>
  );
}

function Field({ name, children }: { readonly name: string; readonly children: preact.ComponentChildren }) {
  return (
    <div class="fields-row">
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Who({ caller: { type, id, name } }: { readonly caller: Caller }) {
  return (
    <>
      {name} <span class="faint">{type}</span> <Follow name="principal" value={id} words="their calls" />
    </>
  );
}

/** All entries with the same value. */
function Follow({ name, value, words }: { readonly name: string; readonly value: string; readonly words?: string }) {
  return <Link to={`/audit?${name}=${encodeURIComponent(value)}`}>{words ?? value}</Link>;
}
