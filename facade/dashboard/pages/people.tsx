import { act, boot, useMay } from '../app.ts';
import { Badge, Time } from '../components/small.tsx';
import { kindPage } from '../kind/kind-page.tsx';
import type { Row } from '../kind/spec.ts';
import { ActionButton, AskButton, SecretOnce, showDialog } from '../ui.ts';
import { Passkeys } from './account/passkeys.tsx';
import { Holdings } from './people/holdings.tsx';

export const Page = kindPage('admin-user', {
  subtitle: 'name',
  avatar: true,
  empty: 'People who administer this workspace.',
  columns: [
    { title: 'Role', cell: (row: Row) => <Badge tone="plain">{String(row.role)}</Badge>, spare: 2, width: '10rem' },
    {
      title: 'Active',
      cell: ({ isActive }: Row) => <Badge tone={isActive ? 'good' : 'plain'}>{isActive ? 'Yes' : 'No'}</Badge>,
      spare: 1,
      width: '6rem',
    },
    { title: 'Since', cell: (row: Row) => <Time at={row.createdAt as string} />, end: true, spare: 2 },
  ],
  actions: PersonActions,
  tabs: (row) => [
    { id: 'holdings', label: 'Acting on their behalf', content: () => <Holdings row={row} /> },
    { id: 'passkeys', label: 'Passkeys', content: () => <Passkeys userId={String(row.id)} /> },
  ],
});

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
