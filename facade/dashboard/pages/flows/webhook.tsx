import { useState } from 'preact/hooks';
import { act, text } from '../../app.ts';
import { issueAt, issuesOf } from '../../components/form/state.ts';
import type { Row } from '../../kind/spec.ts';
import { Button, Dialog, ErrorBox, Time, toast, useAction } from '../../ui.ts';
import {
  Address,
  ConnectSteps,
  kindOf,
  SCHEMES,
  SchemeField,
  SecretField,
  type Signature,
  schemeNamed,
  signatureIn,
} from './signature.tsx';

export function Webhook({ row }: { readonly row: Row }) {
  return kindOf(row.trigger) === 'webhook' ? <WebhookOf row={row} signature={signatureIn(row.trigger)} /> : null;
}

function WebhookOf({ row, signature }: { readonly row: Row; readonly signature: Signature | undefined }) {
  const [asks, setAsks] = useState(false);
  const scheme = signature && schemeNamed(signature.scheme);
  return (
    <section class="block stack" aria-label="Webhook">
      <h2>Webhook</h2>
      <Address id={String(row.id)} />
      <Taken signature={signature} />
      {scheme && (
        <details>
          <summary>{`How to connect ${scheme.connects ?? scheme.who}`}</summary>
          <ConnectSteps scheme={scheme} />
        </details>
      )}
      <div class="actions">
        <Button needs="update_flow" text={labelFor(signature)} onClick={() => setAsks(true)} />
      </div>
      {asks && <SecretDialog row={row} signature={signature} onClose={() => setAsks(false)} />}
    </section>
  );
}

function labelFor(signature: Signature | undefined): string {
  if (!signature) return 'Connect a sender';
  return signature.secret === undefined ? 'Give the secret' : 'Replace the secret';
}

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

type SecretDialogProps = Readonly<{ row: Row; signature: Signature | undefined; onClose: () => void }>;

const PATH = 'trigger.signature.secret';

function SecretDialog({ row, signature, onClose }: SecretDialogProps) {
  const [value, setValue] = useState(signature?.scheme ?? SCHEMES[0].value);
  const [secret, setSecret] = useState('');
  const { run, error, busy } = useAction();
  const scheme = schemeNamed(value);
  const choose = (next: string) => {
    setValue(next);
    setSecret('');
  };
  const submit = async (event: Event) => {
    event.preventDefault();
    if (await run(() => save(row, { scheme: value, secret }))) onClose();
  };
  const issue = issueAt({ path: PATH, issues: issuesOf(error) });
  return (
    <Dialog title="Connect a sender" size="m" onClose={onClose}>
      <form class="form" onSubmit={submit}>
        <SchemeField value={value} onChange={choose} />
        <Address id={String(row.id)} />
        <ConnectSteps scheme={scheme} />
        <SecretField key={value} scheme={scheme} value={secret} issue={issue} onChange={setSecret} />
        <p class="quiet">Runs that the webhook starts have your rights from then on.</p>
        {error !== undefined && <ErrorBox error={error} shownElsewhere={(path) => path === PATH} />}
        <div class="actions form-actions">
          <Button text={text.save} type="submit" look="primary" busy={busy} />
          <Button text={text.cancel} onClick={onClose} />
        </div>
      </form>
    </Dialog>
  );
}

async function save(row: Row, signature: Signature): Promise<void> {
  await act('update_flow', { id: row.id, trigger: { kind: 'webhook', signature }, expectedRevision: row.revision });
  toast('The secret is kept.');
}
