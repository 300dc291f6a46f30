import { html } from '../http/html.ts';
import type { HtmlPage } from '../sign-in/layout.ts';
import type { PageContext } from '../sign-in/views.ts';

interface RedirectTarget {
  readonly client: { readonly host: string };
}

/**
 * Sends the browser back to the app by itself. The form is answered by a page, not by a redirect: browsers check all addresses that a form
 * leads to against the policy, and some apps redirect further.
 */
export function redirectPage(
  { workspace }: PageContext,
  { client: { host } }: RedirectTarget,
  address: string,
): HtmlPage {
  return {
    title: `Back to the app – ${workspace}`,
    refresh: address,
    isAwaited: true,
    body: html`<h1>Back to the app</h1>
<p>The answer goes to ${host}.</p>
<a class="button" href="${address}">Continue</a>`,
  };
}
