import { useState } from 'preact/hooks';
import { act, Button, boot, ConfirmDialog, SecretOnce, showDialog, Time, toast, useMay } from '../../commons.ts';
import type { Row } from '../../kind/spec.ts';

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
      <Button
        text="Reactivate"
        icon="play"
        onClick={() => attempt(() => act('reactivate_admin_user', { id: row.id }))}
      />
    );
  }
  return (
    <>
      {mayLink && !isSelf && (
        <Button text="Sign-in link" icon="link" onClick={() => attempt(() => showLink(String(row.email)))} />
      )}
      {mayEnd && !isSelf && <Button text="Deactivate" icon="close" onClick={() => setLeaves(true)} />}
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
