import { useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { Connect, shortName } from '../../components/connect/connect.tsx';
import { ConfirmDialog, SecretOnce } from '../../components/dialog.tsx';
import { showDialog } from '../../components/shown-dialog.tsx';
import { Time } from '../../components/small.tsx';
import type { Row } from '../../kind/spec.ts';
import { act } from '../../store.ts';
import { useMay } from '../../tools.ts';
import { unifiedEndpoint } from './endpoint.ts';
import { stateOf } from './state.ts';

/** A new secret for a key, and its end. */
export function KeyActions({ row }: { readonly row: Row }) {
  const [asked, setAsked] = useState<'rotate' | 'revoke'>();
  const mayRotate = useMay('rotate_api_key');
  const mayRevoke = useMay('revoke_api_key');
  if (stateOf(row) !== 'active') return null;
  const close = () => setAsked(undefined);
  return (
    <>
      {mayRotate && (
        <Button icon="refresh" onClick={() => setAsked('rotate')}>
          New secret
        </Button>
      )}
      {mayRevoke && (
        <Button icon="close" onClick={() => setAsked('revoke')}>
          Revoke
        </Button>
      )}
      {asked === 'rotate' && <RotateDialog row={row} onClose={close} />}
      {asked === 'revoke' && <RevokeDialog row={row} onClose={close} />}
    </>
  );
}

interface DialogProps {
  readonly row: Row;
  readonly onClose: () => void;
}

function RotateDialog({ row, onClose }: DialogProps) {
  const name = String(row.name);
  const rotate = async () => {
    const { secret } = await act('rotate_api_key', { id: row.id });
    showDialog((close) => (
      <SecretOnce title={`The new secret of ${name}`} secret={String(secret)} onClose={close}>
        <Connect name={shortName(name)} url={unifiedEndpoint()} token={String(secret)} />
      </SecretOnce>
    ));
  };
  return (
    <ConfirmDialog title={`A new secret for ${name}`} action="Make the secret" run={rotate} onClose={onClose}>
      <p>The old secret stops at once. Programs that use it are refused until they have the new one.</p>
    </ConfirmDialog>
  );
}

function RevokeDialog({ row, onClose }: DialogProps) {
  const name = String(row.name);
  return (
    <ConfirmDialog
      title={`Revoke ${name}?`}
      action="Revoke key"
      typed={name}
      run={() => act('revoke_api_key', { id: row.id })}
      onClose={onClose}
    >
      <p>
        Programs that use it are refused from now on, for good. It was last used <Time at={row.lastUsedAt as string} />.
      </p>
    </ConfirmDialog>
  );
}
