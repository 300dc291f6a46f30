import { isIP } from 'node:net';
import type { Readers } from '../../store/port.ts';
import { hostOf, isPublic } from '../../tools/core/outbound/ip-addresses.ts';
import { readSettings } from '../../tools/settings/settings.ts';
import { type Html, html } from '../http/html.ts';
import type { RequestContext } from '../http/request-context.ts';
import { sendPage } from '../sign-in/layout.ts';
import { hostSteps } from './host-steps.ts';

interface Options {
  readonly store: Pick<Readers, 'settings'>;
  readonly baseUrl: string;
  /** Whether clients can sign in. Otherwise they need a key or token. */
  readonly signsIn: boolean;
}

/** Shows people in a browser what an MCP address is and how to connect it. The response has its status and challenge already. */
type ShowAddress = (context: RequestContext) => Promise<void>;

/** The page is the same for every capsule id, so that it does not show which capsules there are. */
export function createAddressPage({ store, baseUrl, signsIn }: Options): ShowAddress {
  const { origin, pathname } = new URL(baseUrl);
  return async ({ response, target }) => {
    const address = `${origin}${pathname.replace(/\/$/, '')}${target.path}`;
    const { workspaceName } = await readSettings(store);
    sendPage(response, 401, {
      title: `An address for AI apps – ${workspaceName}`,
      body: html`<h1>An address for AI apps</h1>
<p>Apps such as Claude connect to ${workspaceName} here, by MCP. Give them this address:</p>
<p><code class="address">${address}</code></p>
${signsIn ? html`${hostSteps(address).map(listOf)}${reachProblem(new URL(address)) !== undefined && NOT_REACHABLE}` : WITH_KEY}`,
    });
  };
}

function listOf({ name, steps }: ReturnType<typeof hostSteps>[number]): Html {
  return html`<h2>${name}</h2>
<ol>
${steps.map((step) => html`<li>${step.split('`').map((part, at) => (at % 2 === 0 ? html`${part}` : html`<code>${part}</code>`))}</li>`)}
</ol>
`;
}

const NOT_REACHABLE = html`<p class="hint">Claude on the web and ChatGPT reach public https addresses only, and this is not one. The others work on this computer.</p>`;
const WITH_KEY = html`<p>Have the app send the header <code>Authorization: Bearer …</code> with an API key, or with the token of the capsule if this is the address of one.</p>`;

/** Says which MCP clients can connect by signing in: hosted ones come from the Internet and want https. */
export function describeReach(baseUrl: string, isOn: boolean): string {
  if (!isOn) return 'MCP clients connect with an API key alone (OAUTH=off).';
  const url = new URL(baseUrl);
  const here = `${baseUrl}/api/v1/mcp`;
  const problem = reachProblem(url);
  return problem === undefined
    ? `MCP clients connect by signing in at ${here}; hosted ones (Claude, ChatGPT) too, if ${url.host} can be reached from the Internet.`
    : `MCP clients in reach connect by signing in at ${here}. Hosted ones (Claude, ChatGPT) cannot: ${problem}; set BASE_URL to a public https address.`;
}

/** Why hosted clients cannot reach the address. Undefined if they may. */
function reachProblem(url: URL): string | undefined {
  const host = hostOf(url);
  const isPrivate =
    isIP(host) === 0
      ? !host.includes('.') || /\.(local|localhost|internal|lan|home|test)$/.test(host)
      : !isPublic(host);
  if (isPrivate) return `${host} is an address of this computer or network`;
  return url.protocol === 'https:' ? undefined : `${url.origin} is not https`;
}
