import { useState } from 'preact/hooks';
import { boot } from '../../boot.ts';
import { Button } from '../../components/button.tsx';
import { ConfirmDialog, SecretOnce } from '../../components/dialog.tsx';
import { showDialog } from '../../components/shown-dialog.tsx';
import { Time } from '../../components/small.tsx';
import { toast } from '../../components/toasts.tsx';
import type { Row } from '../../kind/spec.ts';
import { act } from '../../store.ts';
import { useMay } from '../../tools.ts';

/** A link to sign in with, and the end of somebody's access. */
export function PersonActions({ row }: { readonly row: Row }) {
  const [leaves, setLeaves] = useState(false);
  const mayLink = useMay('create_sign_in_link');
  const mayEnd = useMay('deactivate_admin_user');
  const mayBegin = useMay('reactivate_admin_user');
  const isSelf = row.id === boot.user.id;
  const attempt = (work: () => Promise<unknown>) =>
    void work().catch((error) => toast(error instanceof Error ? error.message : String(error)));
  if (!row.isActive) {
    if (!mayBegin) return null;
    return (
      <Button icon="play" onClick={() => attempt(() => act('reactivate_admin_user', { id: row.id }))}>
        Reactivate
      </Button>
    );
  }
  return (
    <>
      {mayLink && !isSelf && (
        <Button icon="link" onClick={() => attempt(() => showLink(String(row.email)))}>
          Sign-in link
        </Button>
      )}
      {mayEnd && !isSelf && (
        <Button icon="close" onClick={() => setLeaves(true)}>
          Deactivate
        </Button>
      )}
      {leaves && (
        <ConfirmDialog
          title={`Deactivate ${String(row.email)}?`}
          action="Deactivate"
          run={() => act('deactivate_admin_user', { id: row.id })}
          onClose={() => setLeaves(false)}
        >
          <p>
            Their sessions, keys, capsules, connected apps and flows stop at once, also what is under way. Reactivating
            brings back all but the sessions. The tab "Acting on their behalf" lists these and hands them over.
          </p>
        </ConfirmDialog>
      )}
    </>
  );
}

async function showLink(email: string): Promise<void> {
  const { url, expiresAt } = await act<{ url: string; expiresAt: string }>('create_sign_in_link', { email });
  showDialog((close) => (
    <SecretOnce title={`A link for ${email}`} secret={url} onClose={close}>
      <p class="quiet">
        Anybody who opens it is signed in as {email}. It works once, until <Time at={expiresAt} />.
      </p>
    </SecretOnce>
  ));
}
