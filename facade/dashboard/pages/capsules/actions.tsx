import { useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { Connect, shortName } from '../../components/connect/connect.tsx';
import { ConfirmDialog, SecretOnce } from '../../components/dialog.tsx';
import { showDialog } from '../../components/shown-dialog.tsx';
import { Segments } from '../../components/tabs.tsx';
import { exactTime } from '../../format.ts';
import type { Row } from '../../kind/spec.ts';
import { act } from '../../store.ts';
import { useMay } from '../../tools.ts';
import { endpointOf } from './endpoint.ts';

/** Serving it or not, and a new token. */
export function CapsuleActions({ row }: { readonly row: Row }) {
  const [rotates, setRotates] = useState(false);
  const [busy, setBusy] = useState(false);
  const mayUpdate = useMay('update_capsule');
  const mayRotate = useMay('rotate_capsule_token');
  const isLive = row.status === 'live';
  const toggle = async () => {
    setBusy(true);
    await act('update_capsule', { id: row.id, status: isLive ? 'disabled' : 'live' }).finally(() => setBusy(false));
  };
  return (
    <>
      {mayUpdate && (
        <Button busy={busy} icon={isLive ? 'stop' : 'play'} onClick={toggle}>
          {isLive ? 'Stop serving' : 'Serve'}
        </Button>
      )}
      {mayRotate && (
        <Button icon="refresh" onClick={() => setRotates(true)}>
          New token
        </Button>
      )}
      {rotates && <RotateDialog row={row} onClose={() => setRotates(false)} />}
    </>
  );
}

const GRACE = [
  { value: '0', label: 'At once' },
  { value: '3600', label: 'In an hour' },
  { value: '86400', label: 'In a day' },
  { value: '604800', label: 'In a week' },
] as const;
type Grace = (typeof GRACE)[number]['value'];

function RotateDialog({ row, onClose }: { readonly row: Row; readonly onClose: () => void }) {
  const [grace, setGrace] = useState<Grace>('3600');
  const rotate = async () => {
    const { token } = await act('rotate_capsule_token', { id: row.id, graceSeconds: Number(grace) });
    const until = new Date(Date.now() + Number(grace) * 1000).toISOString();
    showDialog((close) => (
      <SecretOnce title={`The new token of ${String(row.name)}`} secret={String(token)} onClose={close}>
        {grace !== '0' && <p class="note">The old token works until {exactTime(until)}.</p>}
        <Connect name={shortName(String(row.name))} url={endpointOf(row)} token={String(token)} />
      </SecretOnce>
    ));
  };
  return (
    <ConfirmDialog title={`A new token for ${String(row.name)}`} action="Make the token" run={rotate} onClose={onClose}>
      <p>Clients with the old token, and apps that were connected with it, are cut off when it ends.</p>
      <p class="label">The old token ends</p>
      <Segments label="The old token ends" value={grace} options={GRACE} onChange={setGrace} />
    </ConfirmDialog>
  );
}
