import { useState } from 'preact/hooks';
import { useMay } from '../../app.ts';
import type { Row } from '../../kind/spec.ts';
import { Button, Time } from '../../ui.ts';
import { Address, ConnectSteps } from './address.tsx';
import { kindOf, type Signature, schemeNamed, signatureIn } from './schemes.ts';
import { SecretDialog } from './secret-dialog.tsx';

/** Of a flow with a webhook: the address to give to senders, and how they sign what they send. */
export function Webhook({ row }: { readonly row: Row }) {
  return kindOf(row.trigger) === 'webhook' ? <WebhookOf row={row} signature={signatureIn(row.trigger)} /> : null;
}

function WebhookOf({ row, signature }: { readonly row: Row; readonly signature: Signature | undefined }) {
  const [asks, setAsks] = useState(false);
  const may = useMay('update_flow');
  const scheme = signature && schemeNamed(signature.scheme);
  return (
    <section class="block stack" aria-label="Webhook">
      <h2>Webhook</h2>
      <Address id={String(row.id)} />
      <Taken signature={signature} />
      {scheme && (
        <details>
          <summary>{scheme.connect}</summary>
          <ConnectSteps scheme={scheme} />
        </details>
      )}
      {may && (
        <div class="actions">
          <Button text={labelFor(signature)} onClick={() => setAsks(true)} />
        </div>
      )}
      {asks && <SecretDialog row={row} signature={signature} onClose={() => setAsks(false)} />}
    </section>
  );
}

function labelFor(signature: Signature | undefined): string {
  if (!signature) return 'Connect a sender';
  return signature.secret === undefined ? 'Give the secret' : 'Replace the secret';
}

/** What the address takes now. */
function Taken({ signature }: { readonly signature: Signature | undefined }) {
  if (!signature) {
    return (
      <p class="quiet">
        Takes requests with an API key. With a secret, it also takes what GitHub, Stripe, Slack and others sign.
      </p>
    );
  }
  const { who } = schemeNamed(signature.scheme);
  if (signature.secret === undefined) {
    return <p class="note warn">{`Takes nothing from ${who} before its secret is given.`}</p>;
  }
  return (
    <p class="quiet">
      Takes what {who} signs. The secret was given <Time at={signature.givenAt} />; it is not shown again.
    </p>
  );
}
