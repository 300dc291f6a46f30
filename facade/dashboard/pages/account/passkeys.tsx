import { useEffect, useState } from 'preact/hooks';
import { act, boot, usePagedList } from '../../app.ts';
import { signedInNow } from '../../passkeys.ts';
import { Badge, Button, type Column, ConfirmDialog, Empty, Menu, PagedTable, Time } from '../../ui.ts';
import { NamePasskey } from './name-passkey.tsx';

type Passkey = Readonly<{ id: string; name: string; isSynced: boolean; createdAt: string; lastUsedAt?: string }>;

type PasskeyDialog = { readonly what: 'add' } | { readonly what: 'rename' | 'remove'; readonly passkey: Passkey };

/** The passkeys of a person: one's own to add, rename and remove, those of others to remove. */
export function Passkeys({ userId }: { readonly userId: string }) {
  const pages = usePagedList<Passkey>('list_passkeys', { userId, limit: 20 });
  const [asked, setAsked] = useState<PasskeyDialog>();
  const problem = useProblem();
  const isOwn = userId === boot.user.id;
  const close = () => setAsked(undefined);
  return (
    <section class="overview" aria-labelledby="passkeys">
      <header class="section-head">
        <h2 id="passkeys">Passkeys</h2>
        {isOwn && problem === undefined && (
          <Button text="Add a passkey" icon="plus" onClick={() => setAsked({ what: 'add' })} />
        )}
      </header>
      {isOwn && <p class="quiet">{problem ?? WHAT}</p>}
      <PagedTable
        label="Passkeys"
        columns={[...COLUMNS, actions(isOwn, setAsked)]}
        pages={pages}
        lines={2}
        none={<Empty title="No passkey yet" />}
      />
      {asked?.what === 'add' && <NamePasskey onClose={close} />}
      {asked?.what === 'rename' && <NamePasskey passkey={asked.passkey} onClose={close} />}
      {asked?.what === 'remove' && <Remove passkey={asked.passkey} onClose={close} />}
    </section>
  );
}

const WHAT =
  'Sign in with your fingerprint, face or PIN instead of a link, and confirm with it that it is you. The key stays in your device or password manager.';

/** Why browsers make no passkeys at the address of this server. */
function useProblem(): string | undefined {
  const [problem, setProblem] = useState<string>();
  useEffect(() => {
    void signedInNow().then(
      ({ passkeyProblem }) => setProblem(passkeyProblem),
      () => undefined, // adding one says what is wrong
    );
  }, []);
  return problem;
}

const COLUMNS: readonly Column<Passkey>[] = [
  { title: 'Name', cell: ({ name }) => <strong>{name}</strong> },
  {
    title: 'Kept',
    cell: ({ isSynced }) => <Badge tone="plain">{isSynced ? 'By a password manager' : 'On one device'}</Badge>,
    spare: 2,
  },
  { title: 'Used', cell: ({ lastUsedAt }) => <Time at={lastUsedAt} />, end: true },
  { title: 'Added', cell: ({ createdAt }) => <Time at={createdAt} />, end: true, spare: 1 },
];

function actions(isOwn: boolean, ask: (asked: PasskeyDialog) => void) {
  const cell = (passkey: Passkey) => (
    <Menu
      label={`Actions for ${passkey.name}`}
      items={[
        ...(isOwn ? [{ label: 'Rename', icon: 'edit' as const, run: () => ask({ what: 'rename', passkey }) }] : []),
        {
          label: 'Remove',
          icon: 'trash',
          alarm: true,
          needs: 'delete_passkey',
          run: () => ask({ what: 'remove', passkey }),
        },
      ]}
    />
  );
  return { title: 'Actions', end: true, cell };
}

function Remove({ passkey: { id, name }, onClose }: { readonly passkey: Passkey; readonly onClose: () => void }) {
  return (
    <ConfirmDialog
      title={`Remove ${name}?`}
      action="Remove passkey"
      run={() => act('delete_passkey', { id })}
      onClose={onClose}
    >
      <p>
        Nobody signs in here with it any more. Remove it from the device or password manager too, which still shows it.
      </p>
    </ConfirmDialog>
  );
}
