import { useState } from 'preact/hooks';
import { act, text } from '../../app.ts';
import { issueAt, issuesOf } from '../../components/form/state.ts';
import type { Row } from '../../kind/spec.ts';
import { Button, Dialog, ErrorBox, toast, useAction } from '../../ui.ts';
import { Address, ConnectSteps } from './address.tsx';
import { SCHEMES, type Signature, schemeNamed } from './schemes.ts';
import { SchemeField, SecretField } from './secret-field.tsx';

type SecretDialogProps = Readonly<{ row: Row; signature: Signature | undefined; onClose: () => void }>;

const PATH = 'trigger.signature.secret';

/** Says who signs what is sent to a flow, and takes the secret, which no page shows again. */
export function SecretDialog({ row, signature, onClose }: SecretDialogProps) {
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
