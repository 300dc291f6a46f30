import { useLocation, wordOf } from '../app.ts';
import { VersionHistory } from '../components/versions.tsx';
import { Empty, Mono } from '../ui.ts';

/** The versions of any record, also of deleted ones: `/history/<type>/<id>`. */
export function Page() {
  const [, entityType, entityId] = useLocation().parts;
  return (
    <div class="page-body">
      <header class="page-head">
        <h1>{entityType ? `Versions of ${withArticle(wordOf(entityType).toLowerCase())}` : 'Versions'}</h1>
        {entityId && <Mono>{entityId}</Mono>}
      </header>
      {entityType && entityId ? (
        <VersionHistory entityType={entityType} entityId={entityId} />
      ) : (
        <Empty title="Open the versions of a record from its page" />
      )}
    </div>
  );
}

function withArticle(words: string): string {
  return `${/^[aeio]/.test(words) ? 'an' : 'a'} ${words}`;
}
