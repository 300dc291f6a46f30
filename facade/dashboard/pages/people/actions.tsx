import { act, boot, useMay } from '../../app.ts';
import type { Row } from '../../kind/spec.ts';
import { ActionButton, AskButton, SecretOnce, showDialog, Time } from '../../ui.ts';

/** A link to sign in with, and the end of somebody's access. */
export function PersonActions({ row }: { readonly row: Row }) {
  const mayLink = useMay('create_sign_in_link');
  const mayEnd = useMay('deactivate_admin_user');
  const mayBegin = useMay('reactivate_admin_user');
  const isSelf = row.id === boot.user.id;
  if (!row.isActive) {
    const run = () => act('reactivate_admin_user', { id: row.id });
    return mayBegin ? <ActionButton text="Reactivate" icon="play" run={run} /> : null;
  }
  const ask = {
    title: `Deactivate ${String(row.email)}?`,
    action: 'Deactivate',
    run: () => act('deactivate_admin_user', { id: row.id }),
  };
  return (
    <>
      {mayLink && !isSelf && <ActionButton text="Sign-in link" icon="link" run={() => showLink(String(row.email))} />}
      {mayEnd && !isSelf && (
        <AskButton text="Deactivate" icon="close" ask={ask}>
          <p>
            Their sessions, keys, capsules, connected apps and flows stop at once, also what is under way. Reactivating
            brings back all but the sessions. The tab "Acting on their behalf" lists these and hands them over.
          </p>
        </AskButton>
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
