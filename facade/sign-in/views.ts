import { type Html, html } from '../http/html.ts';
import type { HtmlPage } from './layout.ts';

export interface PageContext {
  readonly workspace: string;
  /** The path of a page as browsers see it. */
  at(path: string): string;
  readonly formToken: string;
}

interface SignInPageOptions {
  readonly provider: string | undefined;
  /** The path of the script that uses passkeys. Undefined: none are offered. */
  readonly passkeyScript: string | undefined;
  /** The text that was entered before, if it was not an e-mail address. */
  readonly wrong?: string | undefined;
  readonly signedOut?: boolean;
  readonly connecting?: boolean;
  /** Who is signed in, by e-mail, and signs in again to confirm that it is them: for an app, or for another page that waits. */
  readonly again?: { readonly name: string; readonly forApp: boolean } | undefined;
}

export function signInPage({ workspace, at, formToken }: PageContext, options: SignInPageOptions): HtmlPage {
  const { provider, passkeyScript, wrong, signedOut, connecting, again } = options;
  const bad = wrong !== undefined;
  const hasOthers = provider !== undefined || passkeyScript !== undefined;
  const title = again === undefined ? `Sign in to ${workspace}` : 'Confirm that it is you';
  return {
    title: `${bad ? 'Problem: ' : ''}Sign in – ${workspace}`,
    isAwaited: connecting === true,
    ...(passkeyScript !== undefined && { script: at(passkeyScript) }),
    body: html`<h1>${title}</h1>
${again !== undefined && html`<p>Sign in to ${workspace} again as ${again.name}. ${again.forApp ? FOR_APP : 'Nothing on the other page is lost.'}</p>`}
${signedOut === true && html`<p role="status">You are signed out.</p>`}
${connecting === true && again === undefined && html`<p>An app waits to be connected. You come back to it after signing in.</p>`}
${passkeyScript !== undefined && passkeyForm({ at, formToken })}
${
  provider !== undefined &&
  html`<a class="button${passkeyScript !== undefined && ' second'}" href="${at('/sign-in/oidc')}">Continue with ${provider}</a>
<p class="or">or</p>`
}
<form method="post" action="${at('/sign-in')}">
<input type="hidden" name="form" value="${formToken}">
<label for="email">Email</label>
${bad && html`<p class="problem" id="problem" role="alert">Enter a whole e-mail address, like ada@example.com.</p>`}
<input id="email" name="email" type="email" autocomplete="username${passkeyScript !== undefined && ' webauthn'}" required maxlength="320" value="${wrong ?? again?.name ?? ''}" aria-describedby="${bad && 'problem '}hint"${bad && html` aria-invalid="true"`}>
<p class="hint" id="hint">You get a link by mail. It works once, within 10 minutes, in this browser.</p>
<button${hasOthers && html` class="second"`}>Send me a link</button>
</form>`,
  };
}

const FOR_APP =
  'An app that may administer the workspace is let in within 10 minutes of signing in. It is connected as you chose once you have.';

/** Shown by the script, without which it does nothing. The answer of the passkey is sent as a form. */
function passkeyForm({ at, formToken }: Pick<PageContext, 'at' | 'formToken'>): Html {
  return html`<form id="passkey" method="post" action="${at('/sign-in/passkey')}" hidden>
<input type="hidden" name="form" value="${formToken}">
<input type="hidden" name="answer">
<p class="problem" role="alert" hidden></p>
<button>Sign in with a passkey</button>
<p class="or">or</p>
</form>`;
}

export function sentPage({ workspace, at }: PageContext, mailed: boolean): HtmlPage {
  return {
    title: `A link is on its way – ${workspace}`,
    body: html`<h1>A link is on its way</h1>
<p>If the address you entered may sign in to ${workspace}, ${
      mailed
        ? 'you get a mail with a link.'
        : 'a link was printed on the console of the server: it has no mail server, so ask its operator.'
    }</p>
<p>Open the link in this browser within 10 minutes. It works once.</p>
<p><a href="${at('/sign-in')}">Nothing came, or the wrong address?</a></p>`,
  };
}

/** Ends signing in again, which another page waits for. */
export function confirmedPage({ workspace, at }: PageContext): HtmlPage {
  return {
    title: `Confirmed – ${workspace}`,
    body: html`<h1>It is you</h1>
<p>The page that asked for it goes on by itself. You can close this one.</p>
<a class="button second" href="${at('/')}">Open ${workspace} here</a>`,
  };
}

/** Asks for a click, because programs that scan mail follow links but press no buttons. */
export function linkPage({ workspace, at, formToken }: PageContext, secret: string): HtmlPage {
  return {
    title: `Sign in – ${workspace}`,
    body: html`<h1>Sign in to ${workspace}</h1>
<form method="post" action="${at('/sign-in/link')}">
<input type="hidden" name="form" value="${formToken}">
<input type="hidden" name="token" value="${secret}">
<p>You are about to sign in.</p>
<button>Sign in</button>
</form>`,
  };
}

export interface PageProblem {
  readonly title: string;
  readonly text: string;
  readonly requestId: string;
}

export function problemPage({ workspace, at }: Omit<PageContext, 'formToken'>, problem: PageProblem): HtmlPage {
  return {
    title: `${problem.title} – ${workspace}`,
    body: html`<h1>${problem.title}</h1>
<p>${problem.text}</p>
<p class="hint">Request ${problem.requestId}</p>
<a class="button second" href="${at('/sign-in')}">Back to sign-in</a>`,
  };
}
