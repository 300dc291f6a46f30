import { act, useMay } from '../../app.ts';
import type { Row } from '../../kind/spec.ts';
import { ActionButton } from '../../ui.ts';

/** Looks at the other server again, and connects an account where it wants one. */
export function IntegrationActions({ row }: { readonly row: Row }) {
  const mayRefresh = useMay('refresh_integration');
  const mayConnect = useMay('connect_integration');
  const wants = typeof row.auth === 'string' && row.auth.startsWith('oauth');
  const connect = async () => location.assign(String((await act<Row>('connect_integration', { id: row.id })).url));
  return (
    <>
      {wants && mayConnect && <ActionButton text="Connect account" icon="link" run={connect} />}
      {mayRefresh && row.enabled !== false && (
        <ActionButton text="Refresh" icon="refresh" run={() => act('refresh_integration', { id: row.id })} />
      )}
    </>
  );
}
