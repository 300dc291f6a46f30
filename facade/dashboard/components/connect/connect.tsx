import { useState } from 'preact/hooks';
import { Code } from '../code.tsx';
import { Segments } from '../tabs.tsx';
import { type Endpoint, hostsFor } from './hosts.ts';

/** How to connect a client, for each usual one. */
export function Connect(endpoint: Endpoint) {
  const hosts = hostsFor(endpoint);
  const [picked, setPicked] = useState(hosts[0]?.id ?? '');
  const host = hosts.find(({ id }) => id === picked);
  return (
    <section class="connect" aria-label="Connect a client">
      <Segments
        label="Client"
        value={picked}
        options={hosts.map(({ id, name }) => ({ value: id, label: name }))}
        onChange={setPicked}
      />
      {host && (
        <>
          {host.steps.length > 1 ? (
            <ol class="connect-steps">
              {host.steps.map((step) => (
                <li key={step}>{step}</li>
              ))}
            </ol>
          ) : (
            <p class="quiet">{host.steps[0]}</p>
          )}
          {host.snippet !== undefined && <Code value={host.snippet} label={`For ${host.name}`} />}
        </>
      )}
    </section>
  );
}

/** A name for configuration files: letters, digits and dashes. */
export function shortName(name: string): string {
  const short = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '');
  return short === '' ? 'agent-admin' : short.slice(0, 40);
}
