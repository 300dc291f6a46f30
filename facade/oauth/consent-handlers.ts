import type { Provider } from 'oidc-provider';
import type { ConnectedAppRecord } from '../../resources/connected-app.ts';
import { ToolError } from '../../tools/core/errors.ts';
import { html } from '../http/html.ts';
import { type HtmlPage, sendPage } from '../sign-in/layout.ts';
import type { Handlers, PageRequest } from '../sign-in/page-request.ts';
import { type Addresses, paths } from './addresses.ts';
import { problemOf } from './answers.ts';
import type { AskingClient, Clients } from './clients.ts';
import { CAPSULE_SCOPE } from './metadata.ts';
import { rewriteRequest } from './rewrite-request.ts';

export interface ConsentRequest {
  readonly interactionId: string;
  readonly client: AskingClient;
  readonly resource: string;
  /** The capsule of the endpoint. Its existence is not checked. */
  readonly capsuleId?: string;
  readonly scopes: readonly string[];
}

/** `scopes`: what was handed out, which may be less than was asked for, and never more. */
export type Decision =
  | { readonly app: ConnectedAppRecord; readonly scopes: readonly string[] }
  | { readonly denied: true };

export interface Consent {
  /** Undefined if the page was shown. The person may have decided before confirming that it is them. */
  show(context: PageRequest, asked: ConsentRequest): Promise<Decision | undefined>;
  /** Undefined if another page was shown instead. */
  decide(context: PageRequest, asked: ConsentRequest): Promise<Decision | undefined>;
}

interface Options {
  readonly consent: Consent;
  readonly addresses: Addresses;
  readonly clients: Clients;
  provider(): Promise<Provider>;
}

type Interaction = Awaited<ReturnType<Provider['interactionDetails']>>;

export function createConsentHandlers(options: Options): Handlers {
  const { consent } = options;

  async function answer(context: PageRequest, by: Consent['decide']): Promise<void> {
    const { interaction, asked } = await openInteraction(options, context);
    const decision = await by(context, asked);
    if (!decision) return;
    if ('denied' in decision) {
      interaction.result = { error: 'access_denied', error_description: 'The person did not agree.' };
    } else await grant(options, { interaction, asked, decision });
    await interaction.persist();
    sendPage(context.response, 200, redirectPage(context.around.workspace, asked.client.host, interaction.returnTo));
  }

  return {
    [`GET ${paths.consent}`]: (context: PageRequest) => answer(context, (...request) => consent.show(...request)),
    [`POST ${paths.consent}`]: (context: PageRequest) => answer(context, (...request) => consent.decide(...request)),
  };
}

async function openInteraction({ provider, addresses, clients }: Options, { request, response }: PageRequest) {
  const interaction = await findInteraction(await provider(), rewriteRequest(request, addresses, {}), response);
  const { client_id, redirect_uri, resource: url, scope } = interaction.params as Record<string, string>; // checked by the library
  const client = await clients.asking(client_id ?? '', redirect_uri ?? '');
  const resource = addresses.resourceNamed(url ?? '');
  if (!client || !resource) throw new ToolError('not_found', ENDED);
  const { capsuleId } = resource;
  const asked: ConsentRequest = {
    interactionId: interaction.uid,
    client,
    resource: resource.url,
    ...(capsuleId !== undefined && { capsuleId }),
    scopes: (scope ?? '').split(' ').filter((word) => word !== '' && word !== CAPSULE_SCOPE),
  };
  return { interaction, asked };
}

const ENDED = 'The app asked too long ago, or in another browser. Start again in the app.';

async function findInteraction(
  provider: Provider,
  ...exchange: Parameters<Provider['interactionDetails']>
): Promise<Interaction> {
  try {
    return await provider.interactionDetails(...exchange);
  } catch (thrown) {
    if (problemOf(thrown).status < 500) throw new ToolError('not_found', ENDED);
    throw thrown;
  }
}

interface Granted {
  readonly interaction: Interaction;
  readonly asked: ConsentRequest;
  readonly decision: { readonly app: ConnectedAppRecord; readonly scopes: readonly string[] };
}

/** The grant has the id of the connection, and ends with it. */
async function grant({ provider, clients }: Options, { interaction, asked, decision: { app, scopes } }: Granted) {
  const { Grant } = await provider();
  const accountId = app.userId ?? app.capsuleId ?? '';
  const scope = scopes.length === 0 ? CAPSULE_SCOPE : scopes.join(' ');
  const granted = Object.assign(new Grant({ accountId, clientId: asked.client.id }), { jti: app.id });
  granted.addResourceScope(asked.resource, scope);
  await granted.save();
  interaction.params.scope = scope;
  interaction.result = { login: { accountId, remember: false }, consent: { grantId: app.id } };
  await clients.noteUse(asked.client.id);
}

/** Sends the browser back to the app by itself: browsers check redirects of forms against the policy, and some apps redirect further. */
function redirectPage(workspace: string, host: string, address: string): HtmlPage {
  return {
    title: `Back to the app – ${workspace}`,
    refresh: address,
    isAwaited: true,
    body: html`<h1>Back to the app</h1>
<p>The answer goes to ${host}.</p>
<a class="button" href="${address}">Continue</a>`,
  };
}
