import { useEffect, useState } from 'preact/hooks';
import type { Passkey } from '../../../../resources/passkey.ts';
import { act, boot, text, usePagedList } from '../../app.ts';
import { TextField } from '../../components/form/field.tsx';
import { worded } from '../../passkey-messages.ts';
import { addPasskey, signedInNow } from '../../passkeys.ts';
import {
  Badge,
  Button,
  type Column,
  ConfirmDialog,
  Dialog,
  Empty,
  ErrorBox,
  Menu,
  type MenuItem,
  PagedTable,
  Time,
  useAction,
} from '../../ui.ts';

type PasskeyDialog = { readonly what: 'add' } | { readonly what: 'rename' | 'remove'; readonly passkey: Passkey };

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
    hidePriority: 2,
  },
  { title: 'Used', cell: ({ lastUsedAt }) => <Time at={lastUsedAt} />, alignEnd: true },
  { title: 'Added', cell: ({ createdAt }) => <Time at={createdAt} />, alignEnd: true, hidePriority: 1 },
];

function actions(isOwn: boolean, ask: (asked: PasskeyDialog) => void): Column<Passkey> {
  const itemsOf = (passkey: Passkey): MenuItem[] => {
    const [rename, remove] = [() => ask({ what: 'rename', passkey }), () => ask({ what: 'remove', passkey })];
    return [
      ...(isOwn ? [{ label: 'Rename', icon: 'edit' as const, run: rename }] : []),
      { label: 'Remove', icon: 'trash', alarm: true, needs: 'delete_passkey', run: remove },
    ];
  };
  const cell = (passkey: Passkey) => <Menu label={`Actions for ${passkey.name}`} items={itemsOf(passkey)} />;
  return { title: 'Actions', alignEnd: true, cell };
}

function Remove({ passkey: { id, name }, onClose }: Readonly<{ passkey: Passkey; onClose: () => void }>) {
  const run = () => act('delete_passkey', { id });
  return (
    <ConfirmDialog title={`Remove ${name}?`} action="Remove passkey" run={run} onClose={onClose}>
      <p>
        Nobody signs in here with it any more. Remove it from the device or password manager too, which still shows it.
      </p>
    </ConfirmDialog>
  );
}

/** `passkey`: the one to rename. Without one, another is made. */
type NamePasskeyProps = Readonly<{ passkey?: Passkey; onClose: () => void }>;

/** Asks for the name that a passkey is listed with, and then has the browser make it. */
function NamePasskey({ passkey, onClose }: NamePasskeyProps) {
  const [name, setName] = useState(passkey?.name ?? hereWords());
  const { busy, error, run } = useAction();
  const submit = async (event: Event) => {
    event.preventDefault();
    const work = () => (passkey ? act('rename_passkey', { id: passkey.id, name }) : addPasskey(name));
    if (await run(work)) onClose();
  };
  return (
    <Dialog title={passkey ? `Rename ${passkey.name}` : 'Add a passkey'} onClose={onClose}>
      <form class="confirm" onSubmit={submit}>
        <TextField
          label="Name"
          input={{ required: true, maxLength: 100, autocomplete: 'off' }}
          value={name}
          onType={setName}
        />
        {!passkey && (
          <p class="hint">Tells it from others in the list. The browser then asks how to keep the passkey.</p>
        )}
        {error !== undefined && <ErrorBox error={worded(error)} />}
        <div class="actions end">
          <Button text={text.cancel} onClick={onClose} />
          <Button text={passkey ? text.save : 'Add passkey'} type="submit" look="primary" busy={busy} />
        </div>
      </form>
    </Dialog>
  );
}

function hereWords(): string {
  const { userAgent } = navigator;
  const [browser] = BROWSERS.find(([, pattern]) => pattern.test(userAgent)) ?? ['Browser'];
  const [system] = SYSTEMS.find(([, pattern]) => pattern.test(userAgent)) ?? [];
  return system === undefined ? browser : `${browser} on ${system}`;
}

const BROWSERS = [
  ['Edge', /\bEdg/],
  ['Firefox', /\bFirefox/],
  ['Chrome', /Chrom(e|ium)|CriOS/],
  ['Safari', /\bSafari/],
] as const;
const SYSTEMS = [
  ['iPhone', /\biPhone/],
  ['iPad', /\biPad/],
  ['Android', /\bAndroid/],
  ['Windows', /\bWindows/],
  ['Mac', /\bMac OS/],
  ['Linux', /\bLinux/],
] as const;
