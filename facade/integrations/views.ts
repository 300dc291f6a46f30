import type { ShownLink } from '../../tools/integrations/accounts/accounts.ts';
import { html } from '../http/html.ts';
import type { HtmlPage } from '../sign-in/layout.ts';
import type { PageContext } from '../sign-in/views.ts';

interface ConnectInput extends ShownLink {
  readonly secret: string;
  readonly person: string;
}

/** Asks for a click, so that a link that is only looked at is not used up. */
export function connectPage({ workspace, at, formToken }: PageContext, asked: ConnectInput): HtmlPage {
  const { integration, shared, secret, person } = asked;
  const host = new URL(integration.url ?? 'http://unknown').host;
  return {
    title: `Connect ${integration.name} – ${workspace}`,
    body: html`<h1>Connect ${integration.name}</h1>
<p>You are signed in as <strong>${person}</strong>. ${
      shared
        ? 'The account that you connect is used by everybody who may call the tools of this integration.'
        : 'The account that you connect is used by your own calls, and by agents and flows that act for you.'
    }</p>
<p>Its server is <strong>${host}</strong>. On the next page its provider asks you whether ${workspace} may use your account there.</p>
<form method="post" action="${at('/integrations/connect')}">
<input type="hidden" name="form" value="${formToken}">
<input type="hidden" name="link" value="${secret}">
<button>Continue</button>
</form>`,
  };
}

/** Sends the browser on by itself: the policy of the pages lets no form end at another origin. */
export function toProviderPage({ workspace }: PageContext, url: URL): HtmlPage {
  return {
    title: `To ${url.host} – ${workspace}`,
    refresh: url.href,
    body: html`<h1>To ${url.host}</h1>
<p>The provider of the account is <strong>${url.host}</strong>.</p>
<a class="button" href="${url.href}">Continue to ${url.host}</a>`,
  };
}

export function connectedPage({ workspace, at }: PageContext, name: string): HtmlPage {
  return {
    title: `${name} is connected – ${workspace}`,
    body: html`<h1>${name} is connected</h1>
<p role="status">You can close this page and make the call again. disconnect_integration ends it.</p>
<a class="button second" href="${at('/')}">Home</a>`,
  };
}

export function notConnectedPage({ workspace, at }: PageContext, problem: string): HtmlPage {
  return {
    title: `Not connected – ${workspace}`,
    body: html`<h1>Not connected</h1>
<p role="alert">${problem}</p>
<a class="button second" href="${at('/')}">Home</a>`,
  };
}

export function signInFirstPage({ workspace, at }: PageContext): HtmlPage {
  return {
    title: `Sign in first – ${workspace}`,
    body: html`<h1>Sign in first</h1>
<p>An account is connected by the person it belongs to. Sign in, and this page comes back; else open the link again.</p>
<a class="button" href="${at('/sign-in')}">Sign in</a>`,
  };
}
