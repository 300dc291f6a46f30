import { html } from '../sign-in/html.ts';
import type { HtmlPage } from '../sign-in/layout.ts';
import type { PageContext } from '../sign-in/views.ts';

interface RedirectTarget {
  readonly client: { readonly host: string };
}

/**
 * Takes the browser back to the app by itself. The answer to the form is a page and no redirect: browsers hold all addresses that a form leads to
 * against its policy, and some apps send people on from the one that they gave.
 */
export function leavePage({ workspace }: PageContext, { client: { host } }: RedirectTarget, address: string): HtmlPage {
  return {
    title: `Back to the app – ${workspace}`,
    refresh: address,
    isAwaited: true,
    body: html`<h1>Back to the app</h1>
<p>The answer goes to ${host}.</p>
<a class="button" href="${address}">Continue</a>`,
  };
}
