import { useEffect } from 'preact/hooks';
import { invalidate, useAnswer } from '../../app.ts';
import type { Row } from '../../kind/spec.ts';
import { Icon } from '../../ui.ts';

const LOOK_EVERY_MS = 2000;

/** Says when a client has first used a new capsule, so that whoever connects one sees that it works. */
export function FirstUse({ id }: { readonly id: string }) {
  const { data } = useAnswer<Row>('get_capsule', { id });
  const isUsed = data?.lastUsedAt !== undefined;
  useEffect(() => {
    if (isUsed) return undefined;
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible')
        invalidate((tool, input) => tool === 'get_capsule' && 'id' in input && input.id === id);
    }, LOOK_EVERY_MS);
    return () => clearInterval(timer);
  }, [isUsed, id]);
  return (
    <p class={isUsed ? 'note good first-use' : 'note first-use'} role="status">
      {isUsed ? <Icon name="check" /> : <span class="spinner" />}
      {isUsed ? 'It works: a client has connected.' : 'Waiting for the first client…'}
    </p>
  );
}
