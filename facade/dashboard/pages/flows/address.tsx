import { boot } from '../../app.ts';
import { CopyButton } from '../../ui.ts';
import type { Scheme } from './schemes.ts';

/** Where senders post to. */
export function Address({ id }: { readonly id: string }) {
  const url = `${location.origin}${boot.base}/api/v1/agents/flows/${encodeURIComponent(id)}/trigger`;
  return (
    <div class="secret">
      <code class="mono">{url}</code>
      <CopyButton value={url} label="Copy address" words />
    </div>
  );
}

/** What to do at the sender. */
export function ConnectSteps({ scheme }: { readonly scheme: Scheme }) {
  return (
    <ol class="connect-steps">
      {scheme.steps.map((step) => (
        <li key={step}>{step}</li>
      ))}
    </ol>
  );
}
