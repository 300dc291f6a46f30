import { act, useMay } from '../../app.ts';
import { boot } from '../../boot.ts';
import { EarlierSecrets, RotateButton, type Rotating } from '../../components/rotate.tsx';
import type { Row } from '../../kind/spec.ts';
import { ActionButton } from '../../ui.ts';

/** Serving it or not, and a new token. */
export function CapsuleActions({ row }: { readonly row: Row }) {
  const mayUpdate = useMay('update_capsule');
  const isLive = row.status === 'live';
  const toggle = () => act('update_capsule', { id: row.id, status: isLive ? 'disabled' : 'live' });
  return (
    <>
      {mayUpdate && (
        <ActionButton text={isLive ? 'Stop serving' : 'Serve'} icon={isLive ? 'stop' : 'play'} run={toggle} />
      )}
      {row.ownerId === boot.user.id && <RotateButton of={rotatingOf(row)} />}
    </>
  );
}

function rotatingOf(row: Row): Rotating {
  return {
    id: String(row.id),
    name: String(row.name),
    word: 'token',
    tool: 'rotate_capsule_token',
    url: endpointOf(row),
    warning: 'Clients with the old token, and apps that were connected with it, are cut off when it stops.',
  };
}

/** The tokens that still work although they were replaced. */
export function EarlierTokens({ row }: { readonly row: Row }) {
  const end = { tool: 'update_capsule', input: { id: row.id, endEarlierTokens: true } };
  return <EarlierSecrets earlier={row.earlierTokens} word="token" end={end} />;
}

/** The address of a capsule's endpoint. */
export function endpointOf({ id }: Row): string {
  return `${location.origin}${boot.base}/api/capsules/${encodeURIComponent(String(id))}/mcp`;
}
