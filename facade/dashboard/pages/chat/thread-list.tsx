import { counted, setQuery, useMay, usePagedList, usePlace } from '../../app.ts';
import { FilterText } from '../../components/filters.tsx';
import { optionsOf, Select } from '../../components/form/select.tsx';
import { useLive } from '../../live-updates.ts';
import { Badge, type Column, Empty, ErrorBox, LinkButton, Skeleton, Table, Time } from '../../ui.ts';
import type { ThreadRow } from './records.ts';

export function ThreadList({ open }: { readonly open: string | undefined }) {
  const { query } = usePlace();
  const status = query.get('status') === 'archived' ? 'archived' : 'active';
  const typed = (query.get('q') ?? '').toLowerCase();
  const { rows, loading, error, more } = usePagedList<ThreadRow>('list_threads', { status, limit: 100 });
  useLive(['thread://']);
  const shown = rows.filter(({ title }) => title.toLowerCase().includes(typed));
  const maySend = useMay('send_chat_message');
  const kept = location.search;
  return (
    <section class="list-pane" aria-label="Threads">
      <header class="page-head">
        <h1>Chat</h1>
        {maySend && (
          <span class="page-actions">
            <LinkButton text="New chat" look="primary" icon="plus" to="/chat/new" />
          </span>
        )}
      </header>
      <div class="filters">
        <FilterText label="Filter threads" />
        <Select
          class="filter-choice"
          aria-label="Status"
          value={status}
          options={optionsOf(['active', 'archived'])}
          onPick={(picked) => setQuery({ status: picked === 'active' ? undefined : picked })}
        />
      </div>
      {error && <ErrorBox error={error} />}
      {shown.length > 0 ? (
        <Table
          label="Threads"
          columns={COLUMNS}
          rows={shown}
          keyOf={({ id }) => id}
          to={({ id }) => `/chat/${id}${kept}`}
          picked={open}
          onMore={more}
          loading={loading}
        />
      ) : loading ? (
        <div class="pad">
          <Skeleton lines={6} />
        </div>
      ) : (
        <Empty title={typed === '' ? 'No threads here' : 'No threads match'}>
          {status === 'archived' ? 'Archived threads appear here.' : 'Say something to an agent to begin one.'}
        </Empty>
      )}
    </section>
  );
}

/** The title has the whole width, so that most are read to their end; the others on pointing at them. */
const COLUMNS: readonly Column<ThreadRow>[] = [
  {
    title: 'Thread',
    cell: ({ title, messageCount, visibility, ...row }) => (
      <span class="name-words">
        <span class="name-title" title={title}>
          {title}
        </span>
        <span class="name-more thread-facts">
          <span>
            {counted(messageCount, 'message')} {visibility === 'restricted' && <Badge tone="plain">Restricted</Badge>}
          </span>
          <Time at={row.lastMessageAt ?? row.createdAt} />
        </span>
      </span>
    ),
  },
];
