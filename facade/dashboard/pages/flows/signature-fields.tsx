import { issueAt, type PartProps } from '../../components/form/state.ts';
import { SchemeField, SecretField, type Signature, schemeNamed, signatureIn } from './signature.tsx';

const NOBODY = 'Nobody signs: callers use an API key';

interface SignatureFieldsProps extends PartProps {
  /** As it is stored. What stands there in place of the secret keeps it. */
  readonly before: Signature | undefined;
}

/** Who signs what is sent to a webhook, and with which secret. */
export function SignatureFields({ before, ...props }: SignatureFieldsProps) {
  const { value, path, issues, onChange } = props;
  const signature = signatureIn(value);
  const scheme = signature && schemeNamed(signature.scheme);
  const give = (name: string, secret: string) =>
    onChange({ kind: 'webhook', ...(name !== '' && { signature: { scheme: name, secret } }) });
  const kept = (name: string) => (name === before?.scheme ? before.secret : undefined) ?? '';
  const isKept = signature?.secret !== undefined && signature.secret !== '' && signature.secret === before?.secret;
  // A restored flow has a sender whose secret was not given again; other members are changed without it.
  const needed = scheme?.value !== before?.scheme || before?.secret !== undefined;
  return (
    <>
      <SchemeField value={signature?.scheme ?? ''} nobody={NOBODY} onChange={(name) => give(name, kept(name))} />
      {scheme && (
        <SecretField
          key={scheme.value}
          scheme={scheme}
          value={signature?.secret ?? ''}
          hint={isKept ? 'Stays as it was given, unless another one is written here.' : undefined}
          needed={needed}
          issue={issueAt({ path: `${path}.secret`, issues })}
          onChange={(secret) => give(scheme.value, secret)}
        />
      )}
    </>
  );
}
