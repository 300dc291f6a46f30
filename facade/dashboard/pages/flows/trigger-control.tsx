import { useState } from 'preact/hooks';
import { Frame } from '../../components/form/groups.tsx';
import { Part } from '../../components/form/part.tsx';
import { issueAt, type PartProps } from '../../components/form/state.ts';
import type { JsonSchema } from '../../schema.ts';
import { kindOf, type Signature, schemeNamed, signatureIn } from './schemes.ts';
import { SchemeField, SecretField } from './secret-field.tsx';

/** What starts a flow; of a webhook, also who signs what is sent to it. */
export function TriggerControl(props: PartProps) {
  const { schema, value, path } = props;
  const [before] = useState(signatureIn(value));
  const isWebhook = kindOf(value) === 'webhook';
  return (
    <>
      <Part {...props} schema={withoutSignature(schema)} />
      {isWebhook && <SignatureFrame {...props} path={`${path}.signature`} before={before} />}
    </>
  );
}

function withoutSignature(schema: JsonSchema): JsonSchema {
  const { anyOf = [] } = schema;
  const options = anyOf.map(({ properties = {}, ...option }) => {
    const { signature: _, ...rest } = properties;
    return { ...option, properties: rest };
  });
  return { ...schema, anyOf: options };
}

const NOBODY = 'Nobody signs: callers use an API key';

interface SignatureFrameProps extends PartProps {
  /** As it is stored. What stands there in place of the secret keeps it. */
  readonly before: Signature | undefined;
}

function SignatureFrame({ before, ...props }: SignatureFrameProps) {
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
    <Frame {...props} name="signature" schema={{ title: 'Signature' }}>
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
    </Frame>
  );
}
