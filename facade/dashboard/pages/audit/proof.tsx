import { useState } from 'preact/hooks';
import { call, exactTime } from '../../app.ts';
import { ActionButton, Link } from '../../ui.ts';

interface Verdict {
  readonly intact: boolean;
  readonly entries: number;
  readonly older: number;
  readonly lastHead?: { readonly at: string };
  readonly firstProblem?: { readonly kind: string; readonly id?: string; readonly at: string };
}

/** Whether anybody changed the log, once that is asked: it reads all of it. */
export function useProof() {
  const [verdict, setVerdict] = useState<Verdict>();
  const verify = async () => setVerdict(await call<Verdict>('verify_audit'));
  return {
    button: <ActionButton text="Verify" needs="verify_audit" run={verify} />,
    line: verdict && (
      <p class={verdict.intact ? 'note good proof' : 'note alarm proof'} role="status">
        {verdict.intact ? intactText(verdict) : <Broken {...verdict} />}
      </p>
    ),
  };
}

function intactText({ entries, older, lastHead }: Verdict): string {
  const signed = lastHead ? `, last signed at ${exactTime(lastHead.at)}` : '';
  const before = older > 0 ? ` ${older} older entries have no proof.` : '';
  return `Intact: ${entries} entries${signed}.${before}`;
}

function Broken({ firstProblem }: Verdict) {
  const { kind = 'changed', id, at = '' } = firstProblem ?? {};
  const entry = id?.startsWith('aud_') ? <Link to={`/audit/${encodeURIComponent(id)}`}>{id}</Link> : (id ?? 'an entry');
  return (
    <>
      Not intact: {entry} is {kind}
      {at && `, at ${exactTime(at)}`}.
    </>
  );
}
