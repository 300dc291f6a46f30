import { Button, LinkButton } from '../components/button.tsx';
import { ErrorBox } from '../components/error-box.tsx';
import { Badge } from '../components/small.tsx';
import { Fields } from '../components/value.tsx';
import { Skeleton } from '../components/waiting.tsx';
import { wordOf } from '../format.ts';
import { pathOfType } from '../kinds.ts';
import { useAnswer } from '../store.ts';
import { type Hit, readerOf } from './hit.ts';
import { host } from './host/host.ts';
import type { Members } from './start.tsx';

/** The record of a hit, read when it is opened. */
export function OneRecord({ hit, onBack }: { readonly hit: Hit; readonly onBack: () => void }) {
  const reader = readerOf(hit);
  const { data, error } = useAnswer<Members>(reader?.tool, reader?.input);
  const path = pathOfType(hit.type, hit.id) ?? (hit.parent && pathOfType(hit.parent.type, hit.parent.id));
  return (
    <>
      <header class="view-head">
        <Button look="quiet" icon="back" label="All hits" onClick={onBack} />
        <h1>{hit.title}</h1>
        <Badge>{wordOf(hit.type)}</Badge>
      </header>
      {error && <ErrorBox error={error} />}
      {!data && !error && <Skeleton lines={5} />}
      {data && <Fields record={data} />}
      {path !== undefined && host.capabilities.openLinks && (
        <div class="actions">
          <LinkButton text="Open in the dashboard" to={path} icon="external" />
        </div>
      )}
    </>
  );
}
