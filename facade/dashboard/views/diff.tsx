import '../style/versions.css';
import '../style/overlay.css';
import { useState } from 'preact/hooks';
import { keepAnswer } from '../answer-cache.ts';
import { Diff, type DiffAnswer } from '../components/diff.tsx';
import { Toasts } from '../components/toasts.tsx';
import { Ref } from '../components/value.tsx';
import { VersionHistory, type VersionRow } from '../components/versions.tsx';
import { wordOf } from '../format.ts';
import { pathOf } from '../kinds.ts';
import { useMay } from '../tools.ts';
import type { ListAnswer } from '../use-paged-list.ts';
import { beginAt } from './host.ts';
import { type Members, type ShownCall, start } from './start.tsx';

/** What changed in a record, among all its states, with the way back to each. */
function DiffView({ input, output }: ShownCall<ListAnswer<VersionRow> | DiffAnswer>) {
  const { entityType, entityId } = input as Readonly<Partial<Record<string, string>>>; // names a record
  useState(() => begin(input, output));
  const mayList = useMay('list_versions');
  const diff = 'data' in output ? undefined : output;
  const rows = 'data' in output ? output.data : undefined;
  // An agent may have been named instead.
  const id = rows?.[0]?.entityId ?? entityId;
  return (
    <>
      <header class="view-head">
        <h1>{wordOf(entityType ?? 'Record')}</h1>
        {id !== undefined && (
          <p class="quiet">
            <Ref id={id} />
          </p>
        )}
      </header>
      {mayList && entityType !== undefined && entityId !== undefined ? (
        <VersionHistory entityType={entityType} entityId={entityId} />
      ) : (
        diff && <Diff diff={diff} />
      )}
      <Toasts />
    </>
  );
}

function begin(input: Members, output: object): void {
  const { entityType, entityId, versionId, against = 'previous' } = input as Readonly<Partial<Record<string, string>>>;
  const usual = against === 'previous' ? undefined : against;
  beginAt(pathOf(entityId ?? '') ?? '/', { version: versionId, against: usual });
  const record = { entityType, entityId };
  if (versionId !== undefined) keepAnswer('diff_version', { ...record, versionId, against }, output);
  else if (input.cursor === undefined) keepAnswer('list_versions', { ...record, limit: 50 }, output);
}

start(DiffView);
