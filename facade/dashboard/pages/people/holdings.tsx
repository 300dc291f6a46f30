import { useState } from 'preact/hooks';
import { act, boot, call, useMay, usePagedList } from '../../app.ts';
import type { Row } from '../../kind/spec.ts';
import {
  Badge,
  Button,
  type Column,
  ConfirmDialog,
  Empty,
  PagedTable,
  SecretOnce,
  Segments,
  showDialog,
  Time,
} from '../../ui.ts';

type Holding = Readonly<{ type: string; id: string; name: string; reach: string; lastUsedAt?: string }>;

const TAKEN = ['key', 'capsule', 'flow'];

/** What acts for a person, and since when nobody used it: to look through before they leave. */
export function Holdings({ row }: { readonly row: Row }) {
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
  { title: 'Used', cell: ({ lastUsedAt }) => <Time at={lastUsedAt} />, end: true, spare: 1 },
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
    if (secret !== undefined) {
      showDialog((close) => <SecretOnce title={`The new secret of ${name}`} secret={secret} onClose={close} />);
    }
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
  for (let cursor: string | undefined; ; ) {
    const page = await call<KeyPage>('list_api_keys', { limit: 100, ...(cursor !== undefined && { cursor }) });
    const found = page.data.find((key) => key.id === id);
    if (found) return found.revision;
    if (page.nextCursor === null) throw new Error(`There is no key ${id} any more.`);
    cursor = page.nextCursor;
  }
}

interface KeyPage {
  readonly data: readonly { readonly id: string; readonly revision: number }[];
  readonly nextCursor: string | null;
}
