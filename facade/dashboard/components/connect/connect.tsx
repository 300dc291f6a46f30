import { useState } from 'preact/hooks';
import { Code } from '../code.tsx';
import { Segments } from '../tabs.tsx';
import { type Endpoint, type Host, hosts } from './hosts.ts';

/** What is pasted into each client that brings a token, where there is one already. */
export function Connect(endpoint: Endpoint) {
  const own = hosts.filter(({ withToken }) => withToken);
  const [picked, setPicked] = useState(own[0]?.id ?? '');
  const host = own.find(({ id }) => id === picked);
  return (
    <section class="connect" aria-label="Connect a client">
      <HostChoice hosts={own} value={picked} onChange={setPicked} />
      {host && <PasteInto host={host} endpoint={endpoint} />}
    </section>
  );
}

type HostChoiceProps = Readonly<{ hosts: readonly Host[]; value: string; onChange: (id: string) => void }>;

export function HostChoice({ hosts: shown, value, onChange }: HostChoiceProps) {
  const options = shown.map(({ id, name }) => ({ value: id, label: name }));
  return <Segments label="Client" value={value} options={options} onChange={onChange} />;
}

export function PasteInto({ host, endpoint }: Readonly<{ host: Host; endpoint: Endpoint }>) {
  const pasted = host.withToken?.(endpoint);
  if (!pasted) return null;
  return (
    <>
      <Steps steps={pasted.steps} />
      <Code value={pasted.snippet} label={`For ${host.name}`} />
    </>
  );
}

/** Words in backquotes are typed as they are. */
export function Steps({ steps }: { readonly steps: readonly string[] }) {
  const lines = steps.map((step) =>
    step.split('`').map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : part)),
  );
  if (lines.length === 1) return <p class="quiet">{lines[0]}</p>;
  return (
    <ol class="connect-steps">
      {lines.map((line, at) => (
        <li key={steps[at]}>{line}</li>
      ))}
    </ol>
  );
}
