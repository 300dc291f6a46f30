import { ask } from '../bridge.ts';

/** What the host said of itself, as far as the pages use it. */
export interface HostContext {
  readonly theme?: string;
  readonly styles?: { readonly variables?: Readonly<Record<string, unknown>> };
  readonly toolInfo?: { readonly tool?: ShownTool };
}

/** The tool whose answer is shown, as the host knows it from the list. */
type ShownTool = Readonly<{ name: string; title?: string; inputSchema?: object }>;

interface HostSaid {
  readonly hostCapabilities?: { readonly serverTools?: object; readonly openLinks?: object };
  readonly hostContext?: HostContext;
}

/** The host, once it has answered. */
export const host: { capabilities: NonNullable<HostSaid['hostCapabilities']>; context: HostContext } = {
  capabilities: {},
  context: {},
};

/** Greets the host. */
export async function meetHost(version: string): Promise<void> {
  const said = (await ask('ui/initialize', {
    appInfo: { name: 'agent-admin', version },
    appCapabilities: {},
    protocolVersion: '2026-01-26',
  })) as HostSaid; // the extension says so
  host.capabilities = said.hostCapabilities ?? {};
  host.context = said.hostContext ?? {};
}

/** Opens a page of the dashboard in a browser, if the host does that. */
export function openLink(url: string): void {
  if (host.capabilities.openLinks) ask('ui/open-link', { url }).catch(() => {}); // the host has said no
}
