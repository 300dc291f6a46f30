import { useState } from 'preact/hooks';
import { act, Button, toast, useMay } from '../../commons.ts';
import type { Row } from '../../kind/spec.ts';

/** Looks at the other server again, and connects an account where it wants one. */
export function IntegrationActions({ row }: { readonly row: Row }) {
  const mayRefresh = useMay('refresh_integration');
  const mayConnect = useMay('connect_integration');
  const [busy, setBusy] = useState(false);
  const wants = typeof row.auth === 'string' && row.auth.startsWith('oauth');
  const run = async (tool: string, then?: (answer: Row) => void) => {
    setBusy(true);
    try {
      then?.(await act<Row>(tool, { id: row.id }));
    } catch (error) {
      toast(error instanceof Error ? error.message : String(error));
    }
    setBusy(false);
  };
  return (
    <>
      {wants && mayConnect && (
        <Button
          text="Connect account"
          icon="link"
          busy={busy}
          onClick={() => run('connect_integration', ({ url }) => location.assign(String(url)))}
        />
      )}
      {mayRefresh && row.enabled !== false && (
        <Button text="Look again" icon="refresh" busy={busy} onClick={() => run('refresh_integration')} />
      )}
    </>
  );
}
