import { useState } from 'preact/hooks';
import type { ApiKey } from '../../../resources/api-key.ts';
import { act, at, boot, call, findListed, useMay, usePagedList } from '../app.ts';
import { viewAsTab } from '../components/view-as.tsx';
import { kindPage, type Row } from '../kind/kind-page.tsx';
import {
  ActionButton,
  AskButton,
  Badge,
  Button,
  Code,
  type Column,
  ConfirmDialog,
  Dialog,
  Empty,
  Facts,
  PagedTable,
  Segments,
  showDialog,
  showSecret,
  Time,
} from '../ui.ts';
import { Passkeys } from './account/passkeys.tsx';
import { budgetsTab } from './budgets/budget.tsx';
import { AccessControl, accessWords, PRESETS } from './people/access-control.tsx';

export const Page = kindPage('admin-user', {
  subtitle: 'name',
  avatar: true,
  empty: 'People who administer this workspace.',
  makes: {
    title: 'Invite somebody',
    action: 'Invite',
    said: 'was invited',
    intro:
      'They sign in with their email, and may do what you choose here, whatever they use: the dashboard, keys, clients.',
  },
  controls: { access: AccessControl },
  fields: { email: {}, name: {}, access: {}, role: {} },
  start: (query) => (query.get('access') === 'full' ? {} : { access: { scopes: PRESETS[0]?.scopes } }),
  above: MayDo,
  without: ['access'],
  onCreated: ({ email }) => showInvited(String(email)),
  columns: [
    {
      title: 'May do',
      cell: mayDo,
      hidePriority: 2,
      width: '14rem',
    },
    {
      title: 'Active',
      cell: ({ isActive }: Row) => <Badge tone={isActive ? 'good' : 'plain'}>{isActive ? 'Yes' : 'No'}</Badge>,
      width: '6rem',
    },
    { title: 'Since', cell: (row: Row) => <Time at={row.createdAt as string} />, alignEnd: true, hidePriority: 2 },
  ],
  actions: PersonActions,
  tabs: (row) => [
    viewAsTab('userId', row.id, 'What they can do'),
    { id: 'holdings', label: 'Acting on their behalf', content: () => <Holdings row={row} /> },
    budgetsTab('person', row),
    { id: 'passkeys', label: 'Passkeys', content: () => <Passkeys userId={String(row.id)} /> },
  ],
});

function mayDo({ role, access }: Row): string {
  return role === 'owner' ? 'Owner' : accessWords(access);
}

function MayDo({ row }: { readonly row: Row }) {
  return <Facts of={{ 'May do': mayDo(row) }} />;
}

function PersonActions({ row: { id, email, isActive } }: { readonly row: Row }) {
  if (!isActive) {
    const run = () => act('reactivate_admin_user', { id });
    return <ActionButton needs="reactivate_admin_user" text="Reactivate" icon="play" run={run} />;
  }
  if (id === boot.user.id) return null;
  const ask = {
    title: `Deactivate ${email}?`,
    action: 'Deactivate',
    run: () => act('deactivate_admin_user', { id }),
  };
  return (
    <>
      <ActionButton needs="create_sign_in_link" text="Sign-in link" icon="link" run={() => showLink(String(email))} />
      <AskButton needs="deactivate_admin_user" text="Deactivate" icon="close" ask={ask}>
        <p>
          Their sessions, keys, capsules, connected apps and flows stop at once, also what is under way. Reactivating
          brings back all but the sessions. The tab "Acting on their behalf" lists these and hands them over.
        </p>
      </AskButton>
    </>
  );
}

function showInvited(email: string): void {
  showDialog((close) => (
    <Dialog title={`${email} is invited`} onClose={close}>
      <p>
        {boot.sendsMail
          ? 'They sign in here with this email, and get a link by mail to do so.'
          : 'This server sends no mail, so give them a link to sign in (it works once, for a short time), unless they come by your identity provider.'}
      </p>
      {boot.sendsMail && <Code value={`${location.origin}${at('/')}`} label="Address" />}
      <div class="actions end">
        <ActionButton
          needs="create_sign_in_link"
          look={boot.sendsMail ? undefined : 'primary'}
          text="Make a link"
          icon="link"
          run={() => showLink(email)}
        />
        <Button look={boot.sendsMail ? 'primary' : undefined} text="Done" onClick={close} />
      </div>
    </Dialog>
  ));
}

async function showLink(email: string): Promise<void> {
  const { url, expiresAt } = await act<{ url: string; expiresAt: string }>('create_sign_in_link', { email });
  showSecret(
    `A link for ${email}`,
    url,
    <p class="quiet">
      Anybody who opens it is signed in as {email}. It works once, until <Time at={expiresAt} />.
    </p>,
  );
}

type Holding = Readonly<{ type: string; id: string; name: string; reach: string; lastUsedAt?: string }>;

const TAKEN = ['key', 'capsule', 'flow'];

function Holdings({ row }: { readonly row: Row }) {
  const pages = usePagedList<Holding>('list_holdings', { userId: row.id, limit: 100 });
  const [taking, setTaking] = useState<Holding>();
  const mayTake = useMay('take_over') && row.id !== boot.user.id;
  const take = {
    title: 'Take over',
    end: true,
    cell: (holding: Holding) =>
      TAKEN.includes(holding.type) ? <Button text="Take over" onClick={() => setTaking(holding)} /> : null,
  };
  return (
    <>
      <PagedTable
        label="What acts for this person"
        columns={mayTake ? [...COLUMNS, take] : COLUMNS}
        pages={pages}
        none={<Empty title="Nothing acts for this person" />}
      />
      {taking && <TakeOver holding={taking} onClose={() => setTaking(undefined)} />}
    </>
  );
}

const COLUMNS: readonly Column<Holding>[] = [
  {
    title: 'What',
    cell: ({ name, type, reach }) => (
      <span class="name-words">
        <span class="name-title">
          {name} <Badge tone="plain">{type}</Badge>
        </span>
        <span class="name-more">{reach}</span>
      </span>
    ),
  },
  { title: 'Used', cell: ({ lastUsedAt }) => <Time at={lastUsedAt} />, alignEnd: true, hidePriority: 1 },
];

const TOKENS = [
  { value: 'rotate', label: 'A new token' },
  { value: 'keep', label: 'The old token stays' },
] as const;

function TakeOver({ holding, onClose }: { readonly holding: Holding; readonly onClose: () => void }) {
  const { type, id, name } = holding;
  const [token, setToken] = useState<(typeof TOKENS)[number]['value']>('rotate');
  const isCapsule = type === 'capsule';
  const run = async () => {
    const { secret } = await act<{ secret?: string }>('take_over', {
      type,
      id,
      expectedRevision: await revisionOf(type, id),
      ...(isCapsule && { token }),
    });
    if (secret !== undefined) showSecret(`The new secret of ${name}`, secret);
  };
  return (
    <ConfirmDialog title={`Take over ${name}?`} action="Take over" run={run} onClose={onClose}>
      <p>It acts for you from now on, with its id and its history. You must be able to do all that it does.</p>
      {isCapsule && (
        <>
          <Segments label="Token" value={token} options={TOKENS} onChange={setToken} />
          <p class={token === 'keep' ? 'note warn' : 'quiet'}>
            {token === 'keep'
              ? 'Its clients continue. So can the person who leaves, if they know the token.'
              : 'Its clients stop until they have the new token.'}
          </p>
        </>
      )}
      {type === 'key' && <p class="quiet">It gets a new secret; the old one stops at once.</p>}
    </ConfirmDialog>
  );
}

/** The revision that is taken over, so that a change meanwhile is noticed. */
async function revisionOf(type: string, id: string): Promise<number> {
  if (type !== 'key') return (await call<{ revision: number }>(`get_${type}`, { id })).revision;
  const found = await findListed<ApiKey>('list_api_keys', { limit: 100 }, (key) => key.id === id);
  if (!found) throw new Error(`There is no key ${id} any more.`);
  return found.revision;
}
