import { useEffect } from 'preact/hooks';
import { act, useAnswer } from '../answer-cache.ts';
import { setQuery, useLocation } from '../router.ts';
import { text } from '../text.ts';
import { useMay } from '../tools.ts';
import { usePagedList } from '../use-paged-list.ts';
import { AskButton } from './action.tsx';
import { Button } from './button.tsx';
import { Diff, type DiffAnswer } from './diff.tsx';
import { ErrorBox } from './error-box.tsx';
import { Empty, Skeleton, Time } from './small.tsx';
import { toast } from './toasts.tsx';

export interface VersionRow {
  readonly id: string;
  readonly entityId: string;
  readonly revision: number;
  readonly kind: 'snapshot' | 'restore' | 'delete';
  readonly author: { readonly name: string };
  readonly createdAt: string;
  readonly changeDescription?: string;
}

interface VersionHistoryProps {
  /** As `list_versions` names it. */
  readonly entityType: string;
  readonly entityId: string;
}

/** Every state of a record, what changed with each, and the way back. The open version stands in the address. */
export function VersionHistory({ entityType, entityId }: VersionHistoryProps) {
  const { rows, loading, error, more } = usePagedList<VersionRow>('list_versions', { entityType, entityId, limit: 50 });
  const { query } = useLocation();
  const wanted = query.get('version');
  const found = rows.find(({ id }) => id === wanted);
  const open = found ?? rows[0];
  const isFurther = wanted !== null && !found && more !== undefined;
  useEffect(() => {
    if (isFurther) more();
  }, [isFurther, rows.length]);
  if (error) return <ErrorBox error={error} />;
  if (rows.length === 0)
    return loading ? <Skeleton lines={4} /> : <Empty title="No versions yet">The first change makes one.</Empty>;
  return (
    <div class="versions">
      <ol class="version-list">
        {rows.map((version) => (
          <li key={version.id}>
            <button
              type="button"
              class={version.id === open?.id ? 'version picked' : 'version'}
              aria-current={version.id === open?.id ? 'true' : undefined}
              onClick={() => setQuery({ version: version.id })}
            >
              <span class="version-name">Revision {version.revision}</span>
              <span class="quiet">
                {VERBS[version.kind]} {version.author.name}
              </span>
              <span class="version-time">
                <Time at={version.createdAt} />
              </span>
            </button>
          </li>
        ))}
        {more && <Button text={text.loadMore} onClick={more} />}
      </ol>
      {isFurther ? (
        <Skeleton lines={4} />
      ) : (
        open && (
          <VersionDetail
            key={open.id}
            version={open}
            latest={rows[0]}
            isOldest={more === undefined && open === rows.at(-1)}
            entityType={entityType}
            entityId={entityId}
          />
        )
      )}
    </div>
  );
}

/** Of the states to compare with, those that have a button. */
const USUAL = ['previous', 'current'];

const VERBS = { snapshot: 'by', restore: 'restored by', delete: 'deleted by' } as const;

interface VersionDetailProps extends VersionHistoryProps {
  readonly version: VersionRow;
  readonly latest: VersionRow | undefined;
  readonly isOldest: boolean;
}

function VersionDetail({ version, latest, isOldest, entityType, entityId }: VersionDetailProps) {
  const { query } = useLocation();
  const against = query.get('against') ?? 'previous';
  const named = { entityType, entityId, versionId: version.id };
  const { data, error } = useAnswer<DiffAnswer>('diff_version', { ...named, against });
  const isLatest = version.id === latest?.id;
  const mayRestore = useMay('restore_version') && !isLatest && version.kind !== 'delete';
  const restore = async () => {
    await act('restore_version', { ...named, ...(latest && { expectedRevision: latest.revision }) });
    setQuery({ version: undefined });
    toast(`Revision ${version.revision} is back.`);
  };
  const title = `Restore revision ${version.revision}?`;
  const ask = { title, action: text.restore, look: 'primary' as const, run: restore };
  return (
    <section class="version-detail" aria-label={`Revision ${version.revision}`}>
      <div class="actions">
        {(against !== 'previous' || !isLatest) && (
          <Button
            text={against === 'previous' ? 'Compare with now' : 'Compare with the one before'}
            onClick={() => setQuery({ against: against === 'previous' ? 'current' : undefined })}
          />
        )}
        {mayRestore && (
          <AskButton text={text.restore} icon="refresh" ask={ask}>
            <p>
              The record gets the state it had then. What it is now stays in the history as revision {latest?.revision}.
            </p>
          </AskButton>
        )}
      </div>
      {!USUAL.includes(against) && <p class="quiet">Compared with {against}.</p>}
      {version.changeDescription && <p class="quiet">{version.changeDescription}</p>}
      {error ? (
        <ErrorBox error={error} />
      ) : data ? (
        <Diff diff={data} isFirst={isOldest && against === 'previous'} />
      ) : (
        <Skeleton lines={4} />
      )}
    </section>
  );
}
