import { act, useMay } from '../../app.ts';
import { RotateButton } from '../../components/rotate.tsx';
import type { Row } from '../../kind/spec.ts';
import { ActionButton } from '../../ui.ts';

/** A test, the switch, and a new secret. */
export function WebhookActions({ row }: { readonly row: Row }) {
  const mayTest = useMay('test_webhook');
  const mayChange = useMay('update_webhook');
  const test = async () => {
    const { status, lastError } = await act<Row>('test_webhook', { id: row.id });
    return status === 'delivered' ? 'The test arrived.' : `The test did not arrive. ${String(lastError)}`;
  };
  const turn = async () => {
    await act('update_webhook', { id: row.id, enabled: !row.enabled, expectedRevision: row.revision });
    return row.enabled ? `${String(row.name)} is off: nothing is noted or sent.` : `${String(row.name)} is on.`;
  };
  return (
    <>
      {mayTest && <ActionButton text="Test" icon="send" run={test} />}
      {mayChange && (
        <ActionButton text={row.enabled ? 'Switch off' : 'Switch on'} icon={row.enabled ? 'stop' : 'play'} run={turn} />
      )}
      {row.secret !== undefined && (
        <RotateButton
          of={{
            id: String(row.id),
            name: String(row.name),
            word: 'secret',
            tool: 'rotate_webhook_secret',
            warning: 'Until the old secret stops, both sign, so that the receiver can change over.',
          }}
        />
      )}
    </>
  );
}
