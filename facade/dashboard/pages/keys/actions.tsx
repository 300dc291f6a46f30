import { act, boot, useMay } from '../../app.ts';
import { EarlierSecrets, RotateButton, type Rotating } from '../../components/rotate.tsx';
import type { Row } from '../../kind/spec.ts';
import { AskButton, Time } from '../../ui.ts';
import { unifiedEndpoint } from './endpoint.ts';

/** A new secret for a key, and its end. */
export function KeyActions({ row }: { readonly row: Row }) {
  const mayRevoke = useMay('revoke_api_key');
  if (stateOf(row) !== 'active') return null;
  return (
    <>
      {row.ownerId === boot.user.id && <RotateButton of={rotatingOf(row)} />}
      {mayRevoke && <RevokeButton row={row} />}
    </>
  );
}

function rotatingOf(row: Row): Rotating {
  return {
    id: String(row.id),
    name: String(row.name),
    word: 'secret',
    tool: 'rotate_api_key',
    url: unifiedEndpoint(),
    warning: 'Programs with the old secret are refused once it stops, until they have the new one.',
  };
}

/** The secrets that still work although they were replaced. */
export function EarlierOfKey({ row }: { readonly row: Row }) {
  const end = { tool: 'revoke_api_key', input: { id: row.id, earlierOnly: true } };
  return stateOf(row) === 'active' ? <EarlierSecrets earlier={row.earlierSecrets} word="secret" end={end} /> : null;
}

function RevokeButton({ row }: { readonly row: Row }) {
  const name = String(row.name);
  const run = () => act('revoke_api_key', { id: row.id });
  return (
    <AskButton text="Revoke" icon="close" ask={{ title: `Revoke ${name}?`, action: 'Revoke key', typed: name, run }}>
      <p>
        Programs that use it are refused from now on, for good.{' '}
        {typeof row.lastUsedAt === 'string' ? (
          <>
            It was last used <Time at={row.lastUsedAt} />.
          </>
        ) : (
          'It was not used yet.'
        )}
      </p>
    </AskButton>
  );
}

/** As `list_api_keys` filters them. */
export function stateOf({ revokedAt, expiresAt }: Row): 'active' | 'expired' | 'revoked' {
  if (revokedAt !== undefined) return 'revoked';
  return typeof expiresAt === 'string' && Date.parse(expiresAt) <= Date.now() ? 'expired' : 'active';
}
